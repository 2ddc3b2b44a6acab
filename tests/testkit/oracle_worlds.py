"""Random worlds for the two authorizers: few things each, so that rules meet.

A world has a palette of some types, names, principals, hosts and operations; its ACLs, questions
and filters are all made from the palette. Drawn from everything at once, hardly any ACL would
have to do with any question.
"""

from collections.abc import Sequence
from math import prod
from random import Random
from typing import Any

from hypothesis import strategies as st

from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclOperation, PatternType, ResourceType
from doorkeeper.acls.networks import address_of, network_of
from doorkeeper.server.net.addresses import java_host_address

# U+FF5E stands before U+1F600 by code point and behind it by UTF-16 code unit; U+1F600 and U+1F601
# begin with the same code unit. "hardcode" is what authorizeByResourceType asks about.
FAMILIES = (
    ("a", "ab", "abc", "abcd", "b", "*"),
    ("*", "**", "*a", "a*", "a", ""),
    ("(", "(b", "*", "!", "!(", " ", ""),
    ("\uff5e", "\U0001f600", "\U0001f601", "\U0001f600a", "a", "a\U0001f600", "a\uff5e", "\u00e9"),
    ("hardcode", "hard", "hardcodes", "h", "*", "i"),
    ("kafka-cluster", "kafka", "*", "A", "a.b", " a", "line\nfeed", "x" * 300),
)
NAMES = tuple(dict.fromkeys(name for family in FAMILIES for name in family))
PRINCIPALS = (
    *("User:a", "User:*", "User:b", "Group:x", "Group:*", "User:", "user:a", "User:a:b"),
    *("User:CN=a,O=b c", "User:\U0001f600", "User:**", ":", ":a", "Role:admin", "User: a"),
)
ADDRESSES = (
    *("10.0.0.1", "10.0.0.2", "::1", "fe80::1%2", "::ffff:10.0.0.1", "2001:db8::ff00:42:8329"),
    *("0.0.0.0", "255.255.255.255", "::", "1:2:3:4:5:6:7:8"),
)
ODD_HOSTS = ("", "::1", "fe80:0:0:0:0:0:0:1", "10.0.0.0/8", "localhost", "**", "10.0.0.1 ")
NETWORKS = (
    *("10.0.0.0/8", "10.9.8.7/8", "10.0.0.0/31", "10.0.0.1/32", "10.0.0.2/32", "010.0.0.0/08"),
    *("0.0.0.0/0", "200.1.2.3/0", "0.0.0.0/32", "0.0.0.0/8", "255.255.255.255/32", "255.0.0.0/7"),
    *(
        "::/0",
        "::1/128",
        "::/127",
        "::2/120",
        "[::1]/128",
        "::/+0",
        "::1/\u0661\u0662\u0668",
        "::0:1/-0",
    ),
    *("fe80::/10", "fe80::1%1/64", "fe80::2/126", "2001:db8::/32", "2001:DB8::FFFF/32", "2001::/3"),
    *("2001:db8::ff00:42:8329/128", "1:2::/31", "1:2:3:4:5:6:7:8/127", "1:2:3:4:5:6:0.7.0.8/127"),
)
NO_NETWORKS = (
    *(
        "10.0.0.0/33",
        "10.0.0/8",
        "10.0.0.0/",
        "::ffff:10.0.0.0/104",
        "::ffff:0:0/96",
        "*/8",
        "/",
        "::/129",
    ),
    *(
        "fe80::1%nosuch0/64",
        "10.0.0.1/255.0.0.0",
        "10.0.0.0\u22158",
        "12345::/16",
        "::/ 0",
        "10.0.0.1/008",
    ),
)
TYPES = tuple(each.value for each in ResourceType if each > ResourceType.ANY)
OPERATIONS = tuple(each.value for each in AclOperation if each > AclOperation.ANY)
STORED_PATTERNS = (PatternType.LITERAL.value, PatternType.PREFIXED.value)
API_KEYS = (3, 0, 1, 2, 8, 10, 15, 16, 19, 20, 22, 29, 30, 31, 32, 33, 38, 58, 60, 71, 75)
SUPER_USERS = (
    "",
    "User:a",
    "User:*",
    "User:a;Group:x",
    " User:a ;; User:CN=a,O=b c;",
    ":",
    "a",
    ";",
)
DRAWN_MAX = 100
EVERYONE = ("false", "true", "TRUE", " true ", "yes", "")


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    acls_max: int,
    questions_max: int,
    operations: int = 15,
    networks: bool = False,
) -> Any:
    """Draw a world; `operations` is the highest code of an operation that the release knows.

    With `networks` most hosts are networks, or texts that nearly are.

    More than a hundred questions are not drawn one by one: they are all that follow from a seed.
    """
    known = [code for code in OPERATIONS if code <= operations]
    # Networks need what is asked about to be what ACLs are about: otherwise few decide anything.
    types, family = draw(_some(TYPES, 1 if networks else 2)), draw(st.sampled_from(FAMILIES))
    names = draw(_some(family, 2) if networks else _some(family, 3) | st.just(family))
    principals, addresses = draw(_some(PRINCIPALS, 2)), draw(_some(ADDRESSES, 2))
    hosts = ["*", *map(host_of, addresses), draw(st.sampled_from(ODD_HOSTS))]
    if networks:
        around = draw(_some(_around(hosts[1:-1]), 4))
        others = draw(st.just([]) | _some((*hosts[:2], *NETWORKS, *NO_NETWORKS), 2))
        hosts = [*around, *others]
    chosen = draw(_some(known, 4))
    # An ACL of an empty name cannot be created; a resource of an empty name can be asked about.
    stored_names = [name for name in names if name] or ["*"]
    everybody = list(dict.fromkeys([*principals, WILDCARD_PRINCIPAL]))
    rows = _rows(types, stored_names, STORED_PATTERNS, everybody, hosts, chosen, (3, 2))
    # What is stored cannot be stored again: two ids of one ACL are refused by Kafka.
    acls = [list(row) for row in dict.fromkeys(map(tuple, draw(_up_to(acls_max, rows))))]
    stored = draw(st.integers(0, len(acls)))
    places = st.lists(st.integers(0, max(stored - 1, 0)), unique=True, max_size=3)
    who = [principal.partition(":")[::2] for principal in principals]
    askers = [(kind, name, at) for kind, name in who for at in addresses]
    asked = [*chosen, AclOperation.DESCRIBE.value, AclOperation.DESCRIBE_CONFIGS.value]
    columns = _question_columns(askers, asked, types, names)
    if questions_max > DRAWN_MAX:
        chance = Random(draw(st.integers(0, 1 << 32)))
        wanted = [
            _flat([chance.choice(column) for column in columns]) for _ in range(questions_max)
        ]
    else:
        questions = _questions(columns, range(operations + 1))
        wanted = draw(_up_to(questions_max, questions))
    return {
        "configs": draw(_CONFIGS),
        "acls": acls[:stored],
        "added": acls[stored:],
        "removed": draw(places) if stored else [],
        "questions": [each for each in wanted if not kafka_is_lost(acls, each)],
        "by_type": draw(_up_to(6, _by_type(askers, asked, types, range(operations + 1)))),
        "filters": draw(_up_to(6, _filters(types, names, everybody, hosts, chosen))),
    }


def kafka_is_lost(acls: Sequence[Any], question: Any) -> bool:
    """Say whether a broker may never answer, or fail, for the name of the resource.

    After the literal ``*`` its walk goes on to names that sort before it. At one that has its
    beginning in common with the resource, and is no prefix of it, the walk goes back to that
    beginning, and takes it from ``*`` instead of from the resource: of one character it is ``*``
    again, for ever, and of more there is none.

    Source: ``StandardAuthorizerData.checkSection`` (4.3.1).
    """
    resource_type, name = question[4], question[5]
    return sorts_before_wildcard(name) and any(
        stored_type == resource_type and stored[:1] == name[0] and not name.startswith(stored)
        for stored_type, stored, *_ in acls
    )


def sorts_before_wildcard(name: str) -> bool:
    """Say whether a name begins with a space, a control character or one of ``!"#$%&'()``."""
    return "" < name[:1] < "*"


def host_of(address: str) -> str:
    """Return an address as ACLs name it."""
    host, _, scope = address.partition("%")
    return java_host_address((host, 0, 0, int(scope or 0)))


def _around(hosts: Sequence[str]) -> list[str]:
    """Return the networks that contain some of these addresses; all where there is none."""
    clients = [client for host in hosts if (client := address_of(host)) is not None]
    found = [
        each
        for each in NETWORKS
        if (network := network_of(each)) is not None and any(map(network.contains, clients))
    ]
    return found or list(NETWORKS)


def _up_to(count: int, items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Return lists of every length up to a count, equally often; usual lists are rather short."""
    return st.integers(0, count).flatmap(lambda size: st.lists(items, min_size=size, max_size=size))


def _some(choices: Sequence[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(choices), min_size=1, max_size=count, unique=True)


def _rows(*columns: Sequence[Any]) -> st.SearchStrategy[list[Any]]:
    """Return lists of one value of each column, each list one draw."""

    def row(number: int) -> list[Any]:
        found = []
        for column in columns:
            number, place = divmod(number, len(column))
            found.append(column[place])
        return found

    return st.integers(0, prod(map(len, columns)) - 1).map(row)


_CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "super.users": st.sampled_from(SUPER_USERS),
        "allow.everyone.if.no.acl.found": st.sampled_from(EVERYONE),
    },
)


def _question_columns(
    askers: Sequence[Any], asked: Sequence[int], types: Sequence[int], names: Sequence[str]
) -> tuple[Sequence[Any], ...]:
    about = [*names, *(f"{name}b" for name in names), "zz"]
    flags = (True, False)
    return askers, asked, types, about, (3,), API_KEYS, (1, 0, 2, 1000), flags, flags


def _questions(
    columns: tuple[Sequence[Any], ...], operations: Sequence[int]
) -> st.SearchStrategy[Any]:
    usual = _rows(*columns)
    # No resource is of the type ANY: Kafka cannot even make one.
    any_type = (ResourceType.UNKNOWN.value, *TYPES)
    odd = _rows(columns[0], operations, any_type, NAMES, (3, 4), *columns[5:])
    return st.one_of(usual, usual, usual, usual, usual, odd).map(_flat)


def _by_type(
    askers: Sequence[Any], asked: Sequence[int], types: Sequence[int], operations: Sequence[int]
) -> st.SearchStrategy[Any]:
    usual = _rows(askers, asked, types, (22, 3))
    odd = _rows(askers, operations, range(8), (22,))
    return st.one_of(usual, usual, usual, odd).map(_flat)


def _filters(
    types: Sequence[int],
    names: Sequence[str],
    principals: Sequence[str],
    hosts: Sequence[str],
    operations: Sequence[int],
) -> st.SearchStrategy[Any]:
    about = [None, *names, *(f"{name}b" for name in names)]
    whose, where = (None, *principals), (None, *hosts)
    usual = _rows((1, *types), about, range(1, 5), whose, where, (1, *operations), (1, 2, 3))
    wide = _rows((1, *types), about, range(1, 5), whose, (None,), (1,), (1,))
    odd = _rows(range(8), about, range(5), (None, *PRINCIPALS), where, range(15), range(4))
    return st.one_of(wide, usual, odd)


def _flat(row: list[Any]) -> list[Any]:
    asker, *rest = row
    return [*asker, *rest]
