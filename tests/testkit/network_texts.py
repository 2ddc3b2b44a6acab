"""Random hosts with a slash: networks as people write them, and texts that are nearly networks."""

from random import Random

OCTETS = (
    "0",
    "1",
    "10",
    "127",
    "128",
    "200",
    "255",
    "010",
    "00",
    "007",
    "256",
    "1000",
    "",
    "-1",
    "a",
)
GROUPS = (
    *(
        "0",
        "1",
        "db8",
        "2001",
        "fe80",
        "ffff",
        "FFFF",
        "64",
        "0000",
        "00001",
        "12345",
        "g",
        "1\uff11",
    ),
    *(
        "\u0663",
        "\uff21",
        "10.0.0.0",
        "1.2.3.4",
        "1.2.3",
        "01.2.3.4",
        "256.0.0.1",
        "1.2.3.4.5",
        "0.0.0.0",
    ),
)
ZONES = ("%1", "%0", "%", "%nosuch0", "%25", "%1]", "%]", "%-1", "%\u0661", "%1%2", "%4294967297")
LENGTHS = (
    *(
        "0",
        "1",
        "7",
        "8",
        "08",
        "008",
        "15",
        "16",
        "17",
        "24",
        "31",
        "32",
        "33",
        "63",
        "64",
        "96",
        "99",
    ),
    *(
        "104",
        "120",
        "127",
        "128",
        "129",
        "032",
        "+32",
        "-0",
        "-1",
        "+",
        "-",
        "",
        " 8",
        "8 ",
        "x",
        "8/8",
    ),
    *(
        "255.0.0.0",
        "\u0663\u0662",
        "\U0001d7d6",
        "2147483647",
        "2147483648",
        "-2147483649",
        "0x8",
        "1_0",
    ),
)
ODD = (
    *(
        "*/8",
        "/",
        "a/b",
        "host/24",
        "localhost:80/8",
        ":/8",
        "::/",
        "//",
        ":/::",
        "/::1",
        "[]/8",
        "[::/8",
    ),
    *("::ffff:10.0.0.0/104", "::ffff:0a00:0000/104", "[::ffff:1.2.3.4]/128", "::fffe:1.2.3.4/112"),
    *("10.0.0.0\u22158", "10.0.0.0/8\n", "\n10.0.0.0/8", "[1.2.3.4]:/8", "1.2.3.4:/8", "[::1]x/8"),
)
CLIENTS = (
    *("0.0.0.0", "0.0.0.1", "1.0.0.0", "10.0.0.0", "10.1.2.3", "10.255.255.255", "127.0.0.1"),
    *("128.0.0.0", "200.1.10.255", "255.255.255.255", "0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:1"),
    *(
        "2001:db8:0:0:0:0:0:5",
        "2001:db8:1:0:0:0:a00:0",
        "fe80:0:0:0:0:0:0:1%1",
        "64:0:0:0:0:0:102:304",
    ),
    *("fe80:0:0:0:0:0:0:1%nosuch0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "0:0:0:0:0:0:a00:0"),
    *("0:0:0:0:0:1:0:0", "1:2:3:4:5:6:7:8", "10:0:0:0:0:0:0:0"),
)


def network_text(chance: Random) -> str:
    """Return a host with a slash; about half of them are networks to Kafka."""
    kind = chance.random()
    if kind < 0.02:
        return chance.choice(ODD)
    plain = chance.random() < 0.7
    if kind < 0.5:
        octets = OCTETS[:8] if plain else OCTETS
        count = 4 if plain else chance.choice((3, 4, 4, 5))
        address = ".".join(chance.choice(octets) for _ in range(count))
        most = 32
    else:
        address = _ipv6(chance, plain=plain)
        most = 128
    length = str(chance.randint(0, most)) if plain else chance.choice(LENGTHS)
    text = f"{address}/{length}"
    return _mutated(chance, text) if chance.random() < 0.1 else text


def _ipv6(chance: Random, *, plain: bool) -> str:
    groups = GROUPS[:10] if plain else GROUPS
    before = chance.randint(0, 4)
    after = chance.randint(0, 3)
    if chance.random() < 0.2:
        before, after = 8, 0
    text = ":".join(chance.choice(groups) for _ in range(before))
    if after or before < 8:
        text += "::" + ":".join(chance.choice(groups) for _ in range(after))
    if plain:
        return text
    if chance.random() < 0.2:
        text += chance.choice(ZONES)
    return f"[{text}]" if chance.random() < 0.2 else text


def _mutated(chance: Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    if chance.random() < 0.5:
        return text[:at] + text[at + 1 :]
    return text[:at] + chance.choice(":./%[] -+0f*\u0663\uff11") + text[at:]
