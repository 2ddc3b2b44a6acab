"""The messages of SCRAM as Kafka reads and writes them."""

from __future__ import annotations

import pytest

from doorkeeper.server.security.scram import (
    BYTES_MAX,
    ClientFirst,
    Malformed,
    client_final,
    client_first,
)


@pytest.mark.parametrize(
    ("token", "read"),
    [
        (
            b"n,a=a=2Cb,n=a=2Cb=3D,r=abc",
            ClientFirst("a=2Cb", "a,b=", "abc", by_token=False, bare="n=a=2Cb=3D,r=abc"),
        ),
        (b"n,,n==3D2C,r=a", ClientFirst("", "=2C", "a", by_token=False, bare="n==3D2C,r=a")),
        (
            b"n,,n=id,r=a,tokenauth=TRUE",
            ClientFirst("", "id", "a", by_token=True, bare="n=id,r=a,tokenauth=TRUE"),
        ),
        (
            b"n,,n=id,r=a,tokenauth=true,tokenauth=x",
            ClientFirst("", "id", "a", by_token=False, bare="n=id,r=a,tokenauth=x"),
        ),
        (b"n,,n=a,r=b,x=y=z", ClientFirst("", "a", "b", by_token=False, bare="n=a,r=b,x=y=z")),
    ],
)
def test_first_message_is_parsed(token: bytes, read: ClientFirst) -> None:
    assert client_first(token) == read


@pytest.mark.parametrize(
    "token",
    [
        b"n,,n=,r=a",
        b"n,,n=alice,r=",
        b"n,,n=alice",
        b"p=tls-unique,,n=alice,r=a",
        b"n,,n=al=2cice,r=a",
        b"n,,n=al=ice,r=a",
        b"n,,n=\xc3\xa4,r=a",
        b"n,,n=alice,r=a,",
        b"n,,n=alice,r=a,1=x",
        b"n,a=,n=alice,r=a",
    ],
)
def test_malformed_first_message_is_rejected(token: bytes) -> None:
    with pytest.raises(Malformed, match=r"^the first message of the client is malformed$"):
        client_first(token)


@pytest.mark.parametrize(
    "token",
    [b"", b"c=biws,r=ab", b"c=biw,r=ab,p=AAAA", b"c=biws,r=ab,p=AAA", b"c=biws,r=ab,p=AAAA\n"],
)
def test_malformed_final_message_is_rejected(token: bytes) -> None:
    with pytest.raises(Malformed, match=r"^the final message of the client is malformed$"):
        client_final(token)


def test_overlong_message_is_malformed() -> None:
    longest = b"n,,n=" + b"a" * (BYTES_MAX - 9) + b",r=b"
    proof = b"c=biws,r=" + b"a" * (BYTES_MAX - 16) + b",p=AAAA"

    assert len(client_first(longest).name) == BYTES_MAX - 9
    assert client_final(proof)[1] == bytes(3)
    with pytest.raises(Malformed):
        client_first(longest.replace(b"n=", b"n=a", 1))
    with pytest.raises(Malformed):
        client_final(proof.replace(b"r=", b"r=a", 1))
