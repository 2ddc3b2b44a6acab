"""What every command that changes a cluster refuses, and the option that does it all the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.acls.entities.model import Credential, TopicEntity
from doorkeeper.acls.filters import matches
from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.formats.records import records
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.repositories import sessions
from doorkeeper.client import nodes
from doorkeeper.client.admin import AdminClient, Created, Deleted, Removed
from doorkeeper.client.config import Address
from doorkeeper.client.errors import ClientError
from testkit.acl import READ, allow, deny, topic
from testkit.acl import cluster as cluster_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from click.testing import Result

    from doorkeeper.acls.entities.model import Entity
    from doorkeeper.acls.model import AclBinding, AclBindingFilter

CLUSTER = cluster_pattern(CLUSTER_NAME)
OPS = allow("ops", AclOperation.ALTER, CLUSTER)
OTHER = allow("other", AclOperation.ALTER, CLUSTER)
T = allow("a", READ, topic("t"))
EVERYONE = allow("*", READ, topic("t"))
NOT_A = deny("a", READ, topic("t"))
IN_NETWORK = deny("a", READ, topic("t"), host="10.0.0.0/8")
MANY = [allow("a", READ, topic(f"t-{number}")) for number in range(12)]
SHA_512 = "SCRAM-SHA-512"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Cluster:
    """A cluster in memory, and the words with which commands reach it as the user ops."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acls: set[AclBinding] = set()
        self.is_open: bool | Exception | None = False
        self.level = 33
        self.id = "a"
        self.unlisted: set[AclBinding] = set()
        self.others: dict[int, set[AclBinding] | Exception] = {}
        """What other brokers list, instead of what the first one does."""
        self.refused: dict[AclBinding, ApiError] = {}
        self.sent: list[AclBinding] = []
        self._folder = folder
        self.properties = folder / "ops.properties"
        self.properties.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            f'sasl.jaas.config={SCRAM} required username="ops" password="p";\n'
        )
        for name in (
            "describe_acls",
            "create_acls",
            "delete_acls",
            "metadata_version",
            "cluster",
        ):
            monkeypatch.setattr(AdminClient, name, self._method(name))

        monkeypatch.setattr(sessions, "is_open_by_default", self._is_open_by_default)

    def _method(self, name: str) -> Any:
        async def call(_client: AdminClient, *arguments: Any, **options: Any) -> Any:
            return getattr(self, f"_{name}")(*arguments, **options)

        return call

    def _describe_acls(
        self, wanted: AclBindingFilter, *, node_id: int | None = None
    ) -> list[AclBinding]:
        listed = self.acls - self.unlisted if node_id is None else self.others[node_id]
        if isinstance(listed, Exception):
            raise listed
        return sorted(each for each in listed if matches(wanted, each))

    def _create_acls(self, bindings: Sequence[AclBinding]) -> list[Created]:
        return [Created(self._change(each, adds=True)) for each in bindings]

    def _delete_acls(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        return [
            Deleted(
                None,
                tuple(
                    Removed(each, self._change(each, adds=False))
                    for each in sorted(self.acls)
                    if matches(wanted, each)
                ),
            )
            for wanted in filters
        ]

    def _change(self, binding: AclBinding, *, adds: bool) -> ApiError | None:
        self.sent.append(binding)
        if binding in self.refused:
            return self.refused[binding]
        (self.acls.add if adds else self.acls.discard)(binding)
        return None

    def _metadata_version(self) -> int:
        return self.level

    def _cluster(self) -> nodes.Cluster:
        brokers = dict.fromkeys([1, *self.others], Address("localhost", 1))
        return nodes.Cluster(self.id, 1, brokers)

    async def _is_open_by_default(self, _client: AdminClient) -> bool | None:
        if isinstance(self.is_open, Exception):
            raise self.is_open
        return self.is_open

    def file(self, *bindings: AclBinding) -> str:
        path = self._folder / "wanted.csv"
        path.write_text(write(list(bindings), Format.CSV))
        return str(path)

    def run(self, *words: str, stdin: str = "") -> Result:
        live = ["kafka://localhost:1", "--command-config", str(self.properties)]
        return CliRunner().invoke(doorkeeper, ["acls", *words, *live], input=stdin)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(tmp_path, monkeypatch)


REMOVE_OPS = ("remove", "--force", "--allow-principal", "User:ops", "--operation", "Alter")
NETWORK_WORDS = ("--deny-principal", "User:a", "--deny-host", "10.0.0.0/8", "--operation", "Read")


@pytest.mark.parametrize(
    ("words", "wanted", "present", "state", "rule"),
    [
        (("apply", "--whole", "--yes"), [T], [OPS, T], {}, "lock-out"),
        (("plan", "--whole"), [T], [OPS, T], {}, "lock-out"),
        ((*REMOVE_OPS, "--cluster"), None, [OPS, T], {}, "lock-out"),
        (
            ("add", "--deny-principal", "User:ops", "--operation", "Describe", "--cluster"),
            None,
            [OPS],
            {},
            "lock-out",
        ),
        (
            ("import",),
            [deny("*", AclOperation.ALL, CLUSTER)],
            [OPS],
            {},
            "lock-out",
        ),
        (("apply", "--whole", "--yes"), MANY[:5], MANY, {}, None),
        (("apply", "--whole", "--yes"), [T], MANY, {}, "size"),
        (("plan", "--whole"), [T], MANY, {}, "size"),
        (("apply", "--whole", "--yes", "--max-removals", "12"), [T], MANY, {}, None),
        (("import",), [IN_NETWORK], [], {"level": 30}, "networks"),
        (("add", *NETWORK_WORDS, "--topic", "t"), None, [], {"level": 30}, "networks"),
        (("add", *NETWORK_WORDS, "--topic", "t"), None, [], {"level": 33}, None),
        (("plan",), [IN_NETWORK], [], {"level": 0}, "networks"),
        (
            ("remove", "--force", "--topic", "t"),
            None,
            [T],
            {"is_open": True},
            "open",
        ),
        (
            ("apply", "--whole", "--yes"),
            [OPS],
            [OPS, T],
            {"is_open": True},
            "open",
        ),
        # The ACLs do not allow the login, so it has the right another way.
        (("apply", "--whole", "--yes"), [T], [OTHER, T], {}, None),
    ],
)
def test_commands_refuse_held_changes(
    cluster: Cluster,
    words: tuple[str, ...],
    wanted: list[AclBinding] | None,
    present: list[AclBinding],
    state: dict[str, Any],
    rule: str | None,
) -> None:
    cluster.acls = set(present)
    vars(cluster).update(state)
    if wanted is not None:
        words = (words[0], cluster.file(*wanted), *words[1:])
    done = 3 if words[0] == "plan" else 0

    found = cluster.run(*words)

    if rule is not None:
        assert found.exit_code == 1
        assert f": --accept {rule}" in found.stderr
        assert words[0] == "plan" or found.stderr.endswith("doorkeeper: nothing was changed\n")
        assert cluster.sent == []
        found = cluster.run(*words, "--accept", rule)
    assert (found.exit_code, "refuses" in found.stderr) == (done, False)
    assert bool(cluster.sent) is (done == 0)


@pytest.mark.parametrize(
    ("is_open", "is_warned"),
    [(False, False), (None, True), (ClientError("no"), True)],
)
def test_unreadable_default_is_a_warning(
    cluster: Cluster, *, is_open: bool | Exception | None, is_warned: bool
) -> None:
    """Kafka lists the key without its value; a login may lack the right to read it."""
    cluster.acls, cluster.is_open = {T, OPS}, is_open

    found = cluster.run("apply", cluster.file(OPS), "--whole", "--yes")

    assert found.exit_code == 0
    warning = "doorkeeper: warning: the last ACL of TOPIC 't' would be removed; allow.everyone"
    assert (warning in found.stderr) is is_warned


@pytest.mark.parametrize(
    "words", [("remove", "--force", "--topic", "t"), ("apply", "--whole", "--yes"), ("import",)]
)
def test_changes_never_widen_access_temporarily(cluster: Cluster, words: tuple[str, ...]) -> None:
    adds = words[0] == "import"
    cluster.acls = {OPS} if adds else {OPS, EVERYONE, NOT_A}
    if words[0] != "remove":
        wanted = [EVERYONE, NOT_A] if adds else [OPS]
        words = (words[0], cluster.file(*wanted), *words[1:])

    assert cluster.run(*words).exit_code == 0
    assert cluster.sent == ([NOT_A, EVERYONE] if adds else [EVERYONE, NOT_A])


def test_dependents_of_failed_changes_are_not_sent(cluster: Cluster) -> None:
    cluster.refused = {NOT_A: ApiError(ErrorCode.POLICY_VIOLATION, "no")}

    found = cluster.run("import", cluster.file(EVERYONE, NOT_A))

    assert found.exit_code == 1
    assert cluster.sent == [NOT_A]
    assert "adding User:a,TOPIC,LITERAL,t,READ,DENY,*: no" in found.stderr
    assert "skipped after the failure: 1 ACL to allow must wait until a DENY" in found.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("import",),
        ("add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "t"),
        ("remove", "--force", "--topic", "u"),
    ],
)
def test_controllers_without_authorizer_are_one_error(
    cluster: Cluster, words: tuple[str, ...]
) -> None:
    cluster.acls = {allow(name, READ, topic("u")) for name in "bc"}
    no = ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    cluster.refused = dict.fromkeys([T, *MANY, *cluster.acls], no)
    if words[0] == "import":
        words = (*words, cluster.file(T, *MANY))

    found = cluster.run(*words)

    assert found.exit_code == 1
    assert found.stderr.count("No Authorizer is configured.") == 1
    assert "authorizer.class.name on the controllers" in (found.stderr)


def test_login_does_not_delete_its_own_user(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []

    async def credentials(_client: AdminClient, **_options: Any) -> dict[str, dict[str, int]]:
        return {"ops": {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096}}

    async def alter(_client: AdminClient, changes: Sequence[Any]) -> list[Created]:
        deleted.extend(each.mechanism for each in changes)
        return [Created()] * len(changes)

    monkeypatch.setattr(AdminClient, "scram_credentials", credentials)
    monkeypatch.setattr(AdminClient, "alter_scram_credentials", alter)

    def run(*words: str) -> Result:
        verb, *rest = words
        live = ["kafka://localhost:1", "--command-config", str(cluster.properties)]
        return CliRunner().invoke(doorkeeper, ["users", verb, *live, *rest], input="secret-1\n")

    refused = run("remove", "ops")
    assert (refused.exit_code, deleted) == (1, [])
    assert (
        "this login uses the user ops with SCRAM-SHA-512, which would be deleted"
    ) in refused.stderr
    assert ": --accept lock-out" in refused.stderr
    assert run("remove", "ops", "--mechanism", "SCRAM-SHA-256").exit_code == 0
    assert run("remove", "ops", "--accept", "lock-out").exit_code == 0
    assert deleted == ["SCRAM-SHA-256", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    changed = run("set-password", "ops", "--password-file", "-")
    assert (changed.exit_code, "update the file of --command-config" in changed.stderr) == (0, True)


def test_plan_is_bound_to_the_cluster_behind_its_address(cluster: Cluster, tmp_path: Path) -> None:
    """Removals that another cluster does not have would end with "No changes" there."""
    cluster.acls = {OPS, T}
    kept = str(tmp_path / "kept.plan")
    cluster.run("plan", cluster.file(OPS), "--whole", "--out", kept)
    cluster.id, cluster.acls = "b", {OPS}

    other = cluster.run("apply", kept, "--plan", "--yes")
    cluster.id, cluster.acls = "a", {OPS, T}
    same = cluster.run("apply", kept, "--plan", "--yes")

    assert other.exit_code == 1
    assert "found cluster b; the plan was made for cluster a; to apply it" in other.stderr
    assert same.stderr == "doorkeeper: 0 added, 1 removed\n"
    assert cluster.acls == {OPS}


REMOVE_T = ("remove", "--force", "--topic", "t", "--allow-principal", "User:a")


def test_named_acl_is_removed_where_a_lagging_broker_does_not_list_it(cluster: Cluster) -> None:
    cluster.acls, cluster.unlisted = {OPS, T}, {T}

    found = cluster.run(*REMOVE_T, "--operation", "Read", "--output", "json")

    assert found.exit_code == 0
    assert cluster.acls == {OPS}
    assert json.loads(found.stdout)["removed"] == list(records([T]))
    assert found.stderr == ("doorkeeper: note: ACLs that were deleted, but not listed: 1\n")


def test_absent_acl_is_not_reported_as_removed(cluster: Cluster) -> None:
    cluster.acls = {OPS}

    found = cluster.run(*REMOVE_T, "--operation", "Read", "--output", "json")

    assert (found.exit_code, json.loads(found.stdout)) == (0, {"removed": []})
    assert found.stderr == "doorkeeper: 0 removed: no LITERAL ACL is on TOPIC t\n"


def test_unlisted_right_of_the_login_is_not_removed(cluster: Cluster) -> None:
    cluster.acls, cluster.unlisted = {OPS, T}, {OPS}

    found = cluster.run(*REMOVE_OPS, "--cluster")

    assert found.exit_code == 1
    assert "User:ops would lose ALTER" in found.stderr
    assert cluster.acls == {OPS, T}


def test_added_acl_is_sent_where_a_lagging_broker_lists_it(cluster: Cluster) -> None:
    """A DENY that was deleted a moment ago and is still listed would not be in force."""
    cluster.acls = {NOT_A, OPS}

    found = cluster.run(
        *("add", "--topic", "t", "--operation", "Read"),
        *("--deny-principal", "User:a", "--allow-principal", "User:*"),
    )

    assert found.exit_code == 0
    assert "already exists." in found.stdout
    assert cluster.sent == [NOT_A, EVERYONE]


def test_sent_acl_that_is_refused_holds_back_what_it_limits(cluster: Cluster) -> None:
    cluster.acls, cluster.refused = {NOT_A, OPS}, {NOT_A: ApiError(ErrorCode.POLICY_VIOLATION, "")}

    found = cluster.run(
        *("add", "--topic", "t", "--operation", "Read"),
        *("--deny-principal", "User:a", "--allow-principal", "User:*"),
    )

    assert (found.exit_code, cluster.sent) == (1, [NOT_A])


NO_ANSWER = ClientError("no answer")


@pytest.mark.parametrize(
    ("unlisted", "others"),
    [
        ({T}, {2: {OPS, T, NOT_A}}),
        ({T}, {2: NO_ANSWER, 3: {OPS, T}}),
        (set(), {2: {OPS}, 3: {OPS, T, NOT_A}}),
    ],
)
def test_apply_does_not_trust_the_listing_of_one_broker(
    cluster: Cluster, unlisted: set[AclBinding], others: dict[int, set[AclBinding] | Exception]
) -> None:
    """One broker lists the wanted DENY, which is gone, or not the ACL that nobody wants."""
    cluster.acls, cluster.unlisted, cluster.others = {OPS, T}, unlisted, others
    wanted = cluster.file(NOT_A, OPS)

    shown = cluster.run("plan", wanted, "--whole")
    found = cluster.run("apply", wanted, "--whole", "--yes")

    note = "ACLs that others do not; a broker may lag"
    assert (shown.exit_code, found.exit_code) == (3, 0)
    assert shown.stdout.splitlines()[:2] == found.stdout.splitlines()[:2]
    assert note in shown.stderr
    assert note in found.stderr
    assert cluster.acls == {OPS, NOT_A}


def test_import_and_saved_plans_do_not_trust_the_listing_of_one_broker(
    cluster: Cluster, tmp_path: Path
) -> None:
    plan = tmp_path / "a.plan"
    cluster.acls, cluster.others = {OPS, T}, {2: {OPS, T}}
    cluster.run("plan", cluster.file(NOT_A, OPS), "--whole", "--out", str(plan))
    cluster.unlisted, cluster.others = {T}, {2: {OPS, T, NOT_A}}

    assert cluster.run("apply", str(plan), "--plan", "--yes").exit_code == 0
    assert cluster.acls == {OPS, NOT_A}

    cluster.unlisted, cluster.others = set(), {2: {OPS, NOT_A, T}}
    assert cluster.run("import", cluster.file(T)).exit_code == 0
    assert cluster.acls == {OPS, NOT_A, T}


def test_removal_by_resource_does_not_trust_the_listing_of_one_broker(cluster: Cluster) -> None:
    cluster.acls, cluster.unlisted, cluster.others = {OPS, T}, {T}, {2: {OPS, T}}

    found = cluster.run("remove", "--force", "--topic", "t", "--output", "json")

    assert json.loads(found.stdout)["removed"] == list(records([T]))
    assert cluster.acls == {OPS}


def test_few_brokers_are_asked(cluster: Cluster) -> None:
    """A cluster may have many brokers, and a listing many ACLs."""
    cluster.acls = {OPS}
    cluster.others = {2: {OPS}, 3: {OPS}, 4: {OPS, T}}

    found = cluster.run("plan", cluster.file(OPS), "--whole")

    assert (found.exit_code, "may lag" in found.stderr) == (0, False)


def test_brokers_that_do_not_answer_are_told(cluster: Cluster) -> None:
    """What one broker lists is then all that is known."""
    cluster.acls, cluster.others = {OPS}, {2: NO_ANSWER, 3: NO_ANSWER}

    found = cluster.run("plan", cluster.file(OPS), "--whole")

    assert found.exit_code == 0
    assert "2 brokers did not answer: what only they list is missing" in found.stderr


def test_plan_in_another_encoding_says_how_to_convert_it(cluster: Cluster, tmp_path: Path) -> None:
    """As PowerShell writes a redirected output."""
    plan = tmp_path / "a.plan"
    plan.write_text("{}", "utf-16")

    found = cluster.run("apply", str(plan), "--plan", "--yes")

    assert found.stderr.endswith("found UTF-16; expected: UTF-8 (convert it with iconv)\n")


def test_list_does_not_trust_the_listing_of_one_broker(cluster: Cluster) -> None:
    cluster.acls, cluster.unlisted, cluster.others = {OPS, T}, {T}, {2: {OPS, T}}

    found = cluster.run("list", "--topic", "t", "--output", "json")

    assert [acl["name"] for acl in json.loads(found.stdout)["acls"]] == ["t"]
    assert "some brokers list 1 ACLs that others do not" in found.stderr


def test_add_says_that_an_acl_exists_only_where_no_broker_contradicts(cluster: Cluster) -> None:
    """The first broker still lists what was deleted; another one lists what it does not yet."""
    cluster.acls, cluster.unlisted = {OPS, T, EVERYONE}, {EVERYONE}
    cluster.others = {2: {OPS, EVERYONE}}

    found = cluster.run(
        *("add", "--topic", "t", "--operation", "Read", "--output", "json"),
        *("--allow-principal", "User:a", "--allow-principal", "User:*"),
    )

    added = json.loads(found.stdout)
    assert (added["existing"], len(added["added"])) == ([], 2)


def test_saved_plan_removes_what_no_asked_broker_lists(cluster: Cluster, tmp_path: Path) -> None:
    plan = tmp_path / "a.plan"
    cluster.acls = {OPS, T}
    cluster.run("plan", cluster.file(OPS), "--whole", "--out", str(plan))
    cluster.unlisted, cluster.others = {T}, {2: {OPS}}

    found = cluster.run("apply", str(plan), "--plan", "--yes")

    assert (found.exit_code, cluster.acls) == (0, {OPS})
    assert "of those to remove, 1 of 1 are not listed" in found.stderr
    assert "0 added, 1 removed" in found.stderr


def test_removals_of_what_is_not_there_are_not_counted(cluster: Cluster, tmp_path: Path) -> None:
    plan = tmp_path / "a.plan"
    cluster.acls = {OPS, T}
    cluster.run("plan", cluster.file(OPS), "--whole", "--out", str(plan))
    cluster.acls = {OPS}

    found = cluster.run("apply", str(plan), "--plan", "--yes", "--output", "json")

    assert json.loads(found.stdout)["made"] == 0
    assert "0 added, 0 removed; to remove, but not there: 1" in found.stderr


def test_unlisted_right_of_the_login_is_not_removed_by_a_saved_plan(
    cluster: Cluster, tmp_path: Path
) -> None:
    plan = tmp_path / "a.plan"
    cluster.acls = {OPS, T}
    cluster.run("plan", cluster.file(T), "--whole", "--accept", "lock-out", "--out", str(plan))
    cluster.unlisted = {OPS}

    found = cluster.run("apply", str(plan), "--plan", "--yes")

    assert (found.exit_code, cluster.acls) == (1, {OPS, T})
    assert "User:ops would lose ALTER" in found.stderr


@pytest.mark.parametrize("option", ["--whole", "--own-principal=User:nobody"])
def test_notes_are_printed_once_where_brokers_differ(cluster: Cluster, option: str) -> None:
    cluster.acls, cluster.others = {OPS, T}, {2: {OPS}}
    words = [] if "nobody" in option else [option]

    found = cluster.run("plan", cluster.file(OPS), *words)

    assert found.stderr.count("--whole") == 1


def test_other_errors_are_not_hidden_by_controllers_without_authorizer(cluster: Cluster) -> None:
    cluster.refused = {
        MANY[0]: ApiError(ErrorCode.POLICY_VIOLATION, "not this one"),
        MANY[1]: ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."),
    }

    found = cluster.run("import", cluster.file(*MANY[:2]))

    assert "t-0,READ,ALLOW,*: not this one" in found.stderr
    assert "No Authorizer is configured. (1 ACLs): the brokers have" in found.stderr


def test_topics_and_quotas_are_those_of_any_broker(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first broker does not describe the user that nobody wants, nor the topic that exists."""
    described: dict[int | None, list[Entity]] = {
        None: [Credential("new", SHA_512, 4096)],
        2: [
            Credential("new", SHA_512, 8192),
            Credential("old", SHA_512, 4096),
            TopicEntity("t", 3),
        ],
    }

    async def describe(
        _client: AdminClient, _desired: object, *, node_id: int | None = None
    ) -> list[Entity]:
        return described[node_id]

    monkeypatch.setattr(AdminClient, "describe_entities", describe)
    cluster.acls, cluster.others = {OPS}, {2: {OPS}}
    wanted = tmp_path / "wanted.yaml"
    wanted.write_text(
        "version: 1\nacls: []\nowns: {topics: t, users: [new, old]}\n"
        "topics: [{name: t, partitions: 3}]\n"
        "users: [{name: new, mechanism: SCRAM-SHA-512, password: '${env:NEW}'}]\n"
    )

    found = cluster.run("plan", str(wanted))

    assert "- user old: SCRAM-SHA-512" in found.stdout
    assert "topic t" not in found.stdout
    assert "brokers do not agree on topic 't', user 'new', user 'old'; a broker may" in found.stderr


def test_answer_tells_all_that_it_leaves_out(cluster: Cluster) -> None:
    """What this version does not know, and what only some brokers list."""
    unknown = T._replace(entry=T.entry._replace(operation=AclOperation(0)))
    cluster.acls, cluster.others = {OPS, unknown}, {2: {OPS, T, unknown}}

    found = cluster.run("lint")

    assert "1 ACLs of the cluster are omitted" in found.stderr
    assert "some brokers list 1 ACLs that others do not" in found.stderr


def test_files_that_a_plan_passes_over_are_told(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "wanted"
    folder.mkdir()
    (folder / "a.csv").write_text(write([OPS], Format.CSV))
    (folder / "b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")

    found = cluster.run("plan", str(folder), "--whole")

    assert "note: files of other tools without ACLs: 1" in found.stderr


def test_json_of_apply_has_what_was_held_back(cluster: Cluster) -> None:
    """The ALLOW of everyone is not sent where the DENY that limits it is refused."""
    cluster.acls, cluster.refused = {OPS}, {NOT_A: ApiError(ErrorCode.POLICY_VIOLATION, "no")}

    found = cluster.run("import", cluster.file(NOT_A, EVERYONE), "--output", "json")

    failures = {row["change"]: row["error"] for row in json.loads(found.stdout)["failed"]}
    assert failures.pop("+ User:a,TOPIC,LITERAL,t,READ,DENY,*") == "no"
    assert [*failures] == ["+ User:*,TOPIC,LITERAL,t,READ,ALLOW,*"]
