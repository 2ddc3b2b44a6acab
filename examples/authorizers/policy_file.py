r"""An authorizer that reads its rules from a YAML file, and again whenever the file changes.

Try it, in the project's folder:

    PYTHONPATH=examples/authorizers python -m doorkeeper serve \
        --override authorizer.class.name=policy_file.PolicyFile \
        --override policy.file=examples/authorizers/policy.yaml

    kafka-acls.sh --bootstrap-server localhost:9092 --list

The list shows the rules. Change the file: two seconds later the server decides by the new rules. A
file with an error changes nothing, and the log says why.

    policy.file              the file
    policy.file.check.ms     how often to look whether it has changed (1000)
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from doorkeeper.plugins import (
    CLUSTER_NAME,
    IMPLIED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclCreateResult,
    AclDeleteResult,
    AclOperation,
    AclPermissionType,
    ApiError,
    AuthorizationResult,
    Authorizer,
    ErrorCode,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
    completed,
    matches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from doorkeeper.plugins import (
        AclBindingFilter,
        Action,
        AuthorizableRequestContext,
        AuthorizerServerInfo,
        Endpoint,
        Eventually,
    )

log = logging.getLogger("policy_file")

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


class PolicyFile(Authorizer):
    """Decides by the rules of a file."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Read the rules. A file that cannot be read stops the start: ValueError is one line."""
        if "policy.file" not in configs:
            raise ValueError("policy.file: found nothing; allowed: a YAML file of rules")
        self._file = Path(configs["policy.file"])
        self._check_s = int(configs.get("policy.file.check.ms", "1000")) / 1000
        self._rules = read_rules(self._file)
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="policy-file")

    def start(
        self,
        server_info: AuthorizerServerInfo,
    ) -> Mapping[Endpoint, Eventually[None]]:
        """Begin to watch the file. No listener has to wait: the rules are there."""
        self._watcher.start()
        return {}

    def _watch(self) -> None:
        last = _version_of(self._file)
        while not self._stop.wait(self._check_s):
            current = _version_of(self._file)
            if current == last:
                continue
            last = current
            try:
                # One assignment: a request sees all of the old rules, or all of the new ones.
                self._rules = read_rules(self._file)
            except ValueError as error:
                log.error("the rules stay as they were: %s", error)  # noqa: TRY400  one line
            else:
                log.info("%d rules read from %s", len(self._rules), self._file)

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Answer each action from the rules in memory."""
        rules = self._rules
        return [
            AuthorizationResult.ALLOWED
            if is_allowed(rules, context, action)
            else AuthorizationResult.DENIED
            for action in actions
        ]

    def acls(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        """Show the rules as ACLs."""
        return (rule for rule in self._rules if matches(wanted, rule))

    def acl_count(self) -> int:
        """Count the rules."""
        return len(self._rules)

    def create_acls(
        self,
        context: AuthorizableRequestContext | None,
        bindings: Sequence[AclBinding],
    ) -> Sequence[Eventually[AclCreateResult]]:
        """Refuse: the file is the only place to change rules."""
        return [completed(AclCreateResult(self._refusal())) for _ in bindings]

    def delete_acls(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
    ) -> Sequence[Eventually[AclDeleteResult]]:
        """Refuse, as above."""
        return [completed(AclDeleteResult(self._refusal())) for _ in filters]

    def _refusal(self) -> ApiError:
        return ApiError(ErrorCode.POLICY_VIOLATION, f"The rules stand in {self._file}.")

    def close(self) -> None:
        """End the watcher, if it has begun."""
        stop = getattr(self, "_stop", None)
        if stop is not None:
            stop.set()
            if self._watcher.ident is not None:
                self._watcher.join()


def is_allowed(
    rules: Sequence[AclBinding], context: AuthorizableRequestContext, action: Action
) -> bool:
    """Say whether some rule allows the action and none denies it."""
    who = ("User:*", str(context.principal))
    mine = [entry for pattern, entry in rules if entry.principal in who and covers(pattern, action)]
    asked = action.operation
    if any(each.permission_type is DENY and includes(each, asked) for each in mine):
        return False
    return any(
        includes(each, asked) or asked in IMPLIED_OPERATIONS[each.operation]
        for each in mine
        if each.permission_type is ALLOW
    )


def includes(entry: AccessControlEntry, operation: AclOperation) -> bool:
    """Say whether an entry is about this very operation, or about all."""
    return entry.operation in (operation, AclOperation.ALL)


def covers(pattern: ResourcePattern, action: Action) -> bool:
    """Say whether a rule's resource is that of the action."""
    resource = action.resource
    if pattern.resource_type is not resource.resource_type:
        return False
    if pattern.pattern_type is PREFIXED:
        return resource.name.startswith(pattern.name)
    return pattern.name in ("*", resource.name)


def read_rules(file: Path) -> tuple[AclBinding, ...]:
    """Return the rules of a file as ACLs.

    Raises:
        ValueError: the file cannot be read, or a rule is wrong; the text names file and rule.

    """
    try:
        rules = yaml.safe_load(file.read_text(encoding="utf-8")) or []
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from error
    if not isinstance(rules, list):
        raise ValueError(f"{file}: found no list of rules")
    bindings: list[AclBinding] = []
    for number, rule in enumerate(rules, 1):
        try:
            bindings += _bindings(rule)
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{file}: rule {number} is wrong: {error}: {rule}") from error
    return tuple(bindings)


def _bindings(rule: dict[str, Any]) -> Iterator[AclBinding]:
    kind, _, name = rule["resource"].partition(" ")
    resource_type = ResourceType[kind.upper()]
    name = name or CLUSTER_NAME
    is_prefix = name.endswith("*") and name != "*"
    pattern = ResourcePattern(
        resource_type,
        name.removesuffix("*") if is_prefix else name,
        PREFIXED if is_prefix else LITERAL,
    )
    who = str(Principal.parse(rule["who"]))
    for key, permission in (("may", ALLOW), ("may_not", DENY)):
        for operation in rule.get(key, ()):
            yield AclBinding(
                pattern, AccessControlEntry(who, "*", AclOperation[operation], permission)
            )


def _version_of(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
