"""The ways in which grants of a cluster are used, or not: each adds grants, labels and requests."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation, PatternType
from synthetic.labelled import GOING, Cluster, Label, Request
from synthetic.making import (
    ALL,
    CLUSTER,
    CLUSTER_PATTERN,
    CREATE,
    DESCRIBE,
    EVERYONE,
    GROUP,
    READ,
    SUPER_USER,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Maker,
    Service,
    Step,
    consume,
    pattern,
    produce,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import ResourcePattern
    from synthetic.quarter import Quarter

NEEDED, UNKNOWABLE = Label.NEEDED, Label.UNKNOWABLE
UNUSED, REDUNDANT = Label.UNUSED, Label.REDUNDANT


def cluster_of(quarter: Quarter) -> Cluster:
    """Return the cluster of some measures; the same measures give the same one."""
    maker = Maker(quarter)
    _brokers(maker)
    for use, least, most in USES:
        for _ in range(maker.rng.randint(least, most)):
            use(maker)
    if quarter.fault == "super users missing":
        super_user(maker)
    if quarter.fault == "another cluster":
        _of_another_cluster(maker)
    _settle(maker.cluster)
    return maker.cluster


def _settle(cluster: Cluster) -> None:
    """Sort the requests, and take back labels that the faults of the collection forbid.

    What a line asked that cannot be read, nobody knows.
    """
    cluster.requests.sort(key=lambda each: each.day)
    unread = {
        each.question.principal
        for each in cluster.requests
        if each.fault or each.printed.startswith("user:")
    }
    unread |= {EVERYONE} if unread else set()
    staying = [each.binding.pattern for each in cluster.present() if each.label not in GOING]
    for grant in cluster.grants:
        if grant.label not in GOING:
            continue
        if cluster.quarter.fault or grant.binding.entry.principal in unread:
            grant.label = UNKNOWABLE
        elif cluster.policy.allow_everyone and not any(
            _lies_within(grant.binding.pattern, each) for each in staying
        ):
            # It closes its names to all others, if it is the last one about them.
            grant.label = REDUNDANT


def _lies_within(pattern: ResourcePattern, other: ResourcePattern) -> bool:
    """Say whether a pattern covers no name that another one does not cover."""
    if other.resource_type is not pattern.resource_type:
        return False
    if other.name == "*" and other.pattern_type is PatternType.LITERAL:
        return True
    prefixed = other.pattern_type is PatternType.PREFIXED
    return pattern == other or (
        prefixed and pattern.name != "*" and pattern.name.startswith(other.name)
    )


def consumer(maker: Maker, days: list[float] | range, use: str) -> Service:
    """Add a consumer with its grants, literal or by prefix, that runs on some days."""
    service = maker.service()
    often = use == "daily"
    topics = maker.topics(service)
    if maker.rng.random() < 0.3:
        maker.grant(
            service.principal, READ, pattern(maker.prefix(service), prefixed=True), NEEDED, use
        )
    else:
        for each in topics:
            maker.grant(service.principal, READ, pattern(each), NEEDED, use)
    group = f"{service.name}-group"
    host = service.host if maker.rng.random() < 0.1 else "*"
    maker.grant(service.principal, READ, pattern(group, GROUP), NEEDED, use, host=host)
    maker.ask(service, days, consume(topics, group), often=often)
    return service


def daily(maker: Maker) -> None:
    """A consumer that runs all the time."""
    maker.active.append(consumer(maker, maker.daily(), "daily"))


def weekly(maker: Maker) -> None:
    """A job of each week."""
    consumer(maker, maker.every(7), "weekly")


def monthly(maker: Maker) -> None:
    """A job of each month."""
    consumer(maker, maker.every(30.5), "monthly")


def quarterly(maker: Maker) -> None:
    """A job of each quarter."""
    consumer(maker, maker.every(91), "per quarter")


def producer(maker: Maker) -> None:
    """An idempotent producer: IDEMPOTENT_WRITE is asked once for each start."""
    service = maker.service()
    topics = maker.topics(service)
    for each in topics:
        maker.grant(service.principal, WRITE, pattern(each), NEEDED, "daily")
    use = "per start: IDEMPOTENT_WRITE"
    maker.grant(service.principal, AclOperation.IDEMPOTENT_WRITE, CLUSTER_PATTERN, NEEDED, use)
    start = Step("InitProducerId", AclOperation.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)
    maker.ask(service, maker.daily(), produce(topics), often=True)
    maker.ask(service, maker.starts(), [start])
    maker.active.append(service)


def transactions(maker: Maker) -> None:
    """A producer with transactions, whose id it names when it starts."""
    service = maker.service()
    topics = maker.topics(service, most=2)
    prefixed = maker.rng.random() < 0.5
    for each in topics:
        maker.grant(service.principal, WRITE, pattern(each), NEEDED, "daily")
    name = service.name if prefixed else f"{service.name}-0"
    what = pattern(name, TRANSACTIONAL_ID, prefixed=prefixed)
    maker.grant(service.principal, WRITE, what, NEEDED, "per start: transactional id")
    start = Step("InitProducerId", WRITE, TRANSACTIONAL_ID, f"{service.name}-0")
    maker.ask(service, maker.daily(), produce(topics), often=True)
    maker.ask(service, maker.starts(), [start])


def streams(maker: Maker) -> None:
    """An application that makes its topics when it starts, and reads and writes them."""
    service = maker.service()
    source, own = maker.topics(service, most=1), f"{service.name}-app-changelog"
    maker.grant(service.principal, READ, pattern(source[0]), NEEDED, "daily")
    names = pattern(f"{service.name}-app", prefixed=True)
    operations = (ALL,) if maker.rng.random() < 0.4 else (READ, WRITE, CREATE)
    for each in operations:
        use = "per start: CREATE" if each is CREATE else "daily"
        maker.grant(service.principal, each, names, NEEDED, use)
    group = f"{service.name}-app"
    maker.grant(service.principal, READ, pattern(group, GROUP), NEEDED, "daily")
    maker.ask(service, maker.starts(), [Step("CreateTopics", CREATE, TOPIC, own)])
    steps = [*consume([source[0], own], group), *produce([own])]
    maker.ask(service, maker.daily(), steps, often=True)


def connect(maker: Maker) -> None:
    """A worker that asks for the settings of its topic when it starts."""
    service = maker.service()
    [topic] = maker.topics(service, most=1)
    configs = AclOperation.DESCRIBE_CONFIGS
    for operation, use in ((READ, "daily"), (configs, "per start: DESCRIBE_CONFIGS")):
        maker.grant(service.principal, operation, pattern(topic), NEEDED, use)
    group = f"connect-{service.name}"
    maker.grant(service.principal, READ, pattern(group, GROUP), NEEDED, "daily")
    maker.ask(service, maker.starts(), [Step("DescribeConfigs", configs, TOPIC, topic)])
    maker.ask(service, maker.daily(), consume([topic], group), often=True)


def new_grant(maker: Maker) -> None:
    """A grant that an old service got lately, and uses later."""
    service = maker.rng.choice(maker.active)
    [topic] = maker.topics(service, most=1)
    given = maker.recently(34)
    maker.grant(service.principal, READ, pattern(topic), UNKNOWABLE, "new", given=given)
    maker.ask(service, maker.after(30), [Step("Fetch", READ, TOPIC, topic)])


def new_service(maker: Maker) -> None:
    """A service that got its grants within the quarter, and begins later."""
    service = maker.service()
    given, group = maker.recently(90), f"{service.name}-group"
    topics = maker.topics(service)
    for each in topics:
        maker.grant(service.principal, READ, pattern(each), UNKNOWABLE, "new", given=given)
    what = pattern(group, GROUP)
    maker.grant(service.principal, READ, what, UNKNOWABLE, "new", given=given)
    maker.ask(service, maker.after(80), consume(topics, group))


def given_again(maker: Maker) -> None:
    """A grant that was taken away, and given again lately."""
    service = maker.rng.choice(maker.active)
    [topic] = maker.topics(service, most=1)
    what, given = pattern(topic), maker.recently(20)
    old = maker.grant(service.principal, WRITE, what, UNKNOWABLE, "new", taken=given - 40)
    new = type(old)(old.binding, UNKNOWABLE, "new", given)
    maker.cluster.grants.append(new)
    maker.ask(service, maker.after(30), produce([topic]))


def taken(maker: Maker) -> None:
    """A grant that was used, and taken away."""
    service = maker.rng.choice(maker.active)
    [topic] = maker.topics(service, most=1)
    at = float(maker.rng.randrange(20, 60))
    maker.grant(service.principal, WRITE, pattern(topic), NEEDED, "taken", taken=at)
    maker.ask(service, range(3, int(at) - 1, 5), produce([topic]))


def renamed(maker: Maker) -> None:
    """A service that logs in under another name, by other mapping rules."""
    name = maker.service(style=0).name
    camel = "".join(each.capitalize() for each in name.split("-"))
    team = name.partition("-")[0]
    others = (
        *(f"User:CN={name},OU={team},O=Example,C=DE", f"User:{name}@EXAMPLE.COM"),
        *(f"User:{camel}", f"User:{name.replace('-', '_')}", f"User:{name}-v2"),
    )
    old, new = f"User:{name}", maker.rng.choice(others)
    if maker.rng.random() < 0.5:
        old, new = new, old
    service = maker.service(name=name)._replace(principal=new)
    topics, group = maker.topics(service), f"{service.name}-group"
    for principal, label in ((old, UNKNOWABLE), (new, NEEDED)):
        use = "renamed" if principal == old else "daily"
        for each in topics:
            maker.grant(principal, READ, pattern(each), label, use)
        maker.grant(principal, READ, pattern(group, GROUP), label, use)
    maker.ask(service, maker.daily(), consume(topics, group), often=True)


def wrong_case(maker: Maker) -> None:
    """A grant of a service that is written in another case."""
    service = maker.service(style=0)
    [topic] = maker.topics(service, most=1)
    written = f"User:{maker.rng.choice((service.name.upper(), service.name.title()))}"
    maker.grant(written, WRITE, pattern(topic), UNKNOWABLE, "wrong case")
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "daily")
    maker.ask(service, maker.daily(), [Step("Fetch", READ, TOPIC, topic)], often=True)
    maker.ask(service, maker.every(5), [Step("Produce", WRITE, TOPIC, topic)])


def behind_deny(maker: Maker) -> None:
    """A grant whose requests a DENY refuses, or did until the client gave up."""
    service = maker.rng.choice(maker.active)
    [topic] = maker.topics(service, most=1)
    prefixed = maker.rng.random() < 0.3
    denied = pattern(maker.prefix(service)[:-1] + "-" if prefixed else topic, prefixed=prefixed)
    name = f"{denied.name}x{maker.number()}" if prefixed else topic
    maker.grant(service.principal, READ, pattern(name), UNKNOWABLE, "behind a DENY")
    everybody = maker.rng.random() < 0.3
    operation = maker.rng.choice((READ, ALL))
    denier = EVERYONE if everybody else service.principal
    maker.grant(denier, operation, denied, NEEDED, "DENY", denies=True)
    if maker.rng.random() < 0.6:
        maker.ask(service, maker.every(3), [Step("Fetch", READ, TOPIC, name)])


def temporary_deny(maker: Maker) -> None:
    """A grant that was used until a DENY came."""
    service = maker.rng.choice(maker.active)
    [topic] = maker.topics(service, most=1)
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "daily until a DENY")
    came = float(maker.rng.randrange(10, max(11, maker.days - 5)))
    what = pattern(topic)
    maker.grant(service.principal, READ, what, NEEDED, "DENY", denies=True, given=came)
    maker.ask(service, range(2, int(came) - 1, 4), [Step("Fetch", READ, TOPIC, topic)])


def idle_deny(maker: Maker) -> None:
    """A DENY that has refused nothing yet."""
    service = maker.rng.choice(maker.active)
    name = f"{service.prefix}secret{maker.number()}"
    maker.grant(service.principal, READ, pattern(name), NEEDED, "DENY", denies=True)


def refused(maker: Maker) -> None:
    """A service that is refused where it begins, and asks for nothing else therefore."""
    if maker.cluster.policy.allow_everyone:
        return
    service = maker.service()
    [begin, *others] = maker.topics(service, 2, 4)
    for each in others:
        maker.grant(service.principal, WRITE, pattern(each), UNKNOWABLE, "refused all the time")
    steps = [Step("Metadata", DESCRIBE, TOPIC, begin), Step("Fetch", READ, TOPIC, begin)]
    maker.ask(service, maker.every(2), steps)


def stuck(maker: Maker) -> None:
    """A service that reads what it may, and is refused by its group: it writes nothing."""
    if maker.cluster.policy.allow_everyone:
        return
    service = maker.service()
    source, target = maker.topics(service, 2, 2)
    maker.grant(service.principal, READ, pattern(source), NEEDED, "daily")
    maker.grant(service.principal, WRITE, pattern(target), UNKNOWABLE, "refused all the time")
    steps = [
        Step("Metadata", DESCRIBE, TOPIC, source),
        Step("FindCoordinator", DESCRIBE, GROUP, f"{service.name}-g"),
    ]
    maker.ask(service, [each for each in maker.every(1.5) if each < maker.days], steps)
    maker.ask(service, maker.after(20), produce([target]))


def for_everyone(maker: Maker) -> None:
    """What everybody may do: describe all topics; it is used by each client."""
    maker.grant(EVERYONE, DESCRIBE, pattern("*"), NEEDED, "for everyone")


def all_names(maker: Maker) -> None:
    """A reader of all topics."""
    service = maker.service()
    maker.grant(service.principal, READ, pattern("*"), NEEDED, "wildcard")
    group = f"{service.name}-group"
    maker.grant(service.principal, READ, pattern(group, GROUP), NEEDED, "daily")
    known = {each.binding.pattern for each in maker.cluster.grants}
    topics = sorted(each.name for each in known if each == pattern(each.name) and each.name != "*")
    chosen = maker.rng.sample(topics, min(len(topics), 6))
    denied = {
        each.binding.pattern.name for each in maker.cluster.grants if each.use in ("DENY", "new")
    }
    steps = consume([each for each in chosen if each not in denied], group)
    maker.ask(service, maker.daily(), steps, often=True)


def generated_names(maker: Maker) -> None:
    """A tool that takes another group each time, by one of the usual ways to make names."""
    forms: tuple[Callable[[float], str], ...] = (
        lambda _: f"{maker.rng.randrange(16**8):08x}",
        lambda _: str(uuid.UUID(int=maker.rng.getrandbits(128))),
        lambda _: str(maker.rng.randrange(10_000, 99_999)),
        lambda day: f"{maker.cluster.at(day):%Y%m%d}",
        lambda day: f"{maker.cluster.at(day).timestamp():.0f}",
    )
    form = maker.rng.choice(forms)
    service = maker.service()
    [topic] = maker.topics(service, most=1)
    stem = f"{service.name}-"
    prefixed = maker.rng.random() < 0.5
    what = pattern(stem if prefixed else "*", GROUP, prefixed=prefixed)
    maker.grant(service.principal, READ, what, NEEDED, "generated names")
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "weekly")
    for day in maker.every(2.5):
        maker.ask(service, [day], consume([topic], f"{stem}{form(day)}"))


def overlapping(maker: Maker) -> None:
    """Grants within each other for the same use: the narrowest is needed."""
    service = maker.service()
    [topic] = maker.topics(service, most=1)
    host = service.host if maker.rng.random() < 0.5 else "*"
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "narrowest", host=host)
    wider = [
        (service.principal, READ, pattern(topic), "*"),
        (service.principal, READ, pattern(topic[:-2], prefixed=True), "*"),
        (service.principal, READ, pattern(maker.prefix(service), prefixed=True), "*"),
        (service.principal, READ, pattern(service.prefix, prefixed=True), "*"),
        (service.principal, ALL, pattern(topic), "*"),
        (EVERYONE, READ, pattern(topic), "*"),
    ]
    for principal, operation, what, each in maker.rng.sample(wider, maker.rng.randint(1, 4)):
        if (principal, operation, what, each) != (service.principal, READ, pattern(topic), host):
            maker.grant(principal, operation, what, REDUNDANT, "wider", host=each)
    maker.ask(service, maker.every(2), [Step("Fetch", READ, TOPIC, topic)])


def wide_and_needed(maker: Maker) -> None:
    """A wide grant that a rare job needs, beside a narrow one for daily use within it."""
    service = maker.service()
    usual, rare = maker.topics(service, 2, 2)
    what = pattern(maker.prefix(service), prefixed=True)
    maker.grant(service.principal, READ, what, NEEDED, "per quarter")
    maker.grant(service.principal, READ, pattern(usual), REDUNDANT, "within a wider one")
    maker.ask(service, maker.daily(), [Step("Fetch", READ, TOPIC, usual)], often=True)
    maker.ask(service, maker.every(91), [Step("Fetch", READ, TOPIC, rare)])


def prober(maker: Maker) -> None:
    """A client without a grant that tries many names, some of them again and again."""
    principal = maker.rng.choice(("User:ANONYMOUS", f"User:scan{maker.number()}"))
    service = maker.service()._replace(principal=principal)
    steps = [Step("Metadata", DESCRIBE, TOPIC, f"probe-{number}") for number in range(40)]
    steps.append(Step("DescribeAcls", DESCRIBE, CLUSTER, CLUSTER_NAME))
    maker.ask(service, [maker.rng.uniform(1, maker.days - 1)], steps)


def super_user(maker: Maker) -> None:
    """Grants of a super user, which decide nothing while it is one."""
    service = maker.service()._replace(principal=SUPER_USER)
    [topic] = maker.topics(service, most=1)
    maker.grant(SUPER_USER, READ, pattern(topic), REDUNDANT, "super user")
    maker.grant(SUPER_USER, ALL, CLUSTER_PATTERN, REDUNDANT, "super user")
    maker.ask(service, maker.every(4), [Step("Fetch", READ, TOPIC, topic)])


def administrator(maker: Maker) -> None:
    """Somebody who changes ACLs each month."""
    service = maker.service()
    maker.grant(
        service.principal, AclOperation.ALTER, CLUSTER_PATTERN, NEEDED, "monthly", host=service.host
    )
    step = Step("CreateAcls", AclOperation.ALTER, CLUSTER, CLUSTER_NAME)
    maker.ask(service, maker.every(30.5), [step])


def printed_as_object(maker: Maker) -> None:
    """A service whose authorizer prints more than its name."""
    service = maker.service(style=0)
    [topic] = maker.topics(service, most=1)
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "printed as an object")
    form = maker.rng.choice(
        (
            "OAuthKafkaPrincipal({}, session:#, token:ey**A)",
            "OAuthKafkaPrincipal({}, groups: [a, b], session:#, token:x)",
            "CustomPrincipal[{}, session=#]",
        )
    )
    steps = [Step("Fetch", READ, TOPIC, topic)]
    maker.ask(service, maker.daily(), steps, often=True, printed=form.format(service.principal))


def type_in_small_letters(maker: Maker) -> None:
    """A service whose type is printed in small letters."""
    service = maker.service(style=0)
    [topic] = maker.topics(service, most=1)
    maker.grant(service.principal, READ, pattern(topic), NEEDED, "type in small letters")
    steps = [Step("Fetch", READ, TOPIC, topic)]
    maker.ask(service, maker.every(12), steps, printed=f"user:{service.name}")


def unreadable(maker: Maker) -> None:
    """A grant all of whose requests are in lines that cannot be read."""
    service = maker.rng.choice((maker.service(), maker.rng.choice(maker.active)))
    [topic] = maker.topics(service, most=1)
    maker.grant(service.principal, WRITE, pattern(topic), UNKNOWABLE, "in unreadable lines")
    fault = maker.rng.choice(("operation", "host", "verb", "cut"))
    maker.ask(service, maker.every(9), [Step("Produce", WRITE, TOPIC, topic)], fault=fault)


def hosts(maker: Maker) -> None:
    """A service that was moved: the grant for its old address is unused, for a network used."""
    service = maker.service()
    [topic] = maker.topics(service, most=1)
    network = f"{service.host.rpartition('.')[0]}.0/24"
    what = pattern(topic)
    maker.grant(service.principal, READ, what, NEEDED, "daily", host=network)
    maker.grant(service.principal, READ, what, UNUSED, "host gone", host="10.9.9.9")
    maker.ask(service, maker.daily(), [Step("Fetch", READ, TOPIC, topic)], often=True)


def dormant(maker: Maker) -> None:
    """Grants of a service that runs, for what it does not do any more."""
    service = maker.rng.choice(maker.active)
    stem, host = f"{service.prefix}old{maker.number()}", service.host
    configs = AclOperation.ALTER_CONFIGS
    there = [
        (READ, pattern(stem), "*"),
        (WRITE, pattern(stem), host),
        (DESCRIBE, pattern(f"{stem}x"), "*"),
        (ALL, pattern(stem, prefixed=True), "*"),
        (CREATE, pattern(f"{stem}-", prefixed=True), "*"),
        (AclOperation.DELETE, pattern(f"{stem}y"), "*"),
        (configs, pattern("*"), "*"),
        (READ, pattern(f"{stem}-group", GROUP), "*"),
        (READ, pattern(stem, GROUP, prefixed=True), "*"),
        (WRITE, pattern(stem, TRANSACTIONAL_ID), "*"),
        (AclOperation.CLUSTER_ACTION, CLUSTER_PATTERN, "*"),
        (AclOperation.ALTER, CLUSTER_PATTERN, "*"),
    ]
    for operation, what, each in maker.rng.sample(there, maker.rng.randint(1, 4)):
        maker.grant(service.principal, operation, what, UNUSED, "dormant", host=each)


def dormant_principal(maker: Maker) -> None:
    """A service that is gone, with all its grants."""
    service = maker.service()
    for each in maker.topics(service, 1, 3):
        maker.grant(service.principal, maker.rng.choice((READ, WRITE)), pattern(each), UNUSED, GONE)
    maker.grant(service.principal, READ, pattern(f"{service.name}-group", GROUP), UNUSED, GONE)
    if maker.rng.random() < 0.3:
        what, operation = CLUSTER_PATTERN, AclOperation.IDEMPOTENT_WRITE
        maker.grant(service.principal, operation, what, UNUSED, GONE)


def dormant_for_everyone(maker: Maker) -> None:
    """A grant to everyone of a topic that nobody asks for."""
    maker.grant(EVERYONE, READ, pattern(f"public{maker.number()}"), UNUSED, "dormant")


GONE = "dormant principal"


def _of_another_cluster(maker: Maker) -> None:
    """Grants of services that do not run here: the listing is of a cluster with more of them."""
    for number in range(2 * len(maker.cluster.grants)):
        name = f"elsewhere-{number}"
        maker.grant(f"User:{name}", READ, pattern(name), UNKNOWABLE, "another cluster")


def _brokers(maker: Maker) -> None:
    """Brokers that ask each other, each day."""
    principal = "User:broker"
    maker.grant(principal, AclOperation.CLUSTER_ACTION, CLUSTER_PATTERN, NEEDED, "daily")
    for day in maker.daily():
        for number in range(maker.cluster.quarter.brokers):
            action = AclOperation.CLUSTER_ACTION
            question = Question(principal, broker_host(number), action, CLUSTER, CLUSTER_NAME)
            at = day + (maker.hours[0] + 0.5) / 24
            # Each asks a controller, which is one of them; several fetch from each other.
            apis = ("BrokerHeartbeat", "Fetch")[: maker.cluster.quarter.brokers]
            maker.cluster.requests += [Request(at, question, api, often=True) for api in apis]


def broker_host(number: int) -> str:
    """Return the address of a broker."""
    return f"10.200.0.{number + 1}"


USES: tuple[tuple[Callable[[Maker], None], int, int], ...] = (
    (daily, 3, 5),
    (weekly, 1, 2),
    (monthly, 1, 2),
    (quarterly, 1, 3),
    (producer, 1, 2),
    (transactions, 1, 1),
    (streams, 0, 1),
    (connect, 0, 1),
    (new_grant, 0, 2),
    (new_service, 0, 2),
    (given_again, 0, 1),
    (taken, 0, 1),
    (renamed, 0, 2),
    (wrong_case, 0, 1),
    (behind_deny, 0, 2),
    (temporary_deny, 0, 1),
    (idle_deny, 0, 1),
    (refused, 0, 1),
    (stuck, 0, 1),
    (for_everyone, 0, 1),
    (all_names, 0, 1),
    (generated_names, 0, 1),
    (overlapping, 0, 2),
    (wide_and_needed, 0, 1),
    (prober, 0, 2),
    (super_user, 0, 1),
    (administrator, 0, 1),
    (printed_as_object, 0, 1),
    (type_in_small_letters, 0, 1),
    (unreadable, 0, 2),
    (hosts, 0, 1),
    (dormant, 3, 6),
    (dormant_principal, 1, 3),
    (dormant_for_everyone, 0, 1),
)
"""Each way of use, and how often it is in a cluster, at least and at most."""
