"""The TLS of the moment."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.tls import listener_tls
from doorkeeper.server.security.tls.listener_tls import ListenerTls
from testkit.certificates import Authority, crl_pem, world
from testkit.tls import client_context, in_pem, shaken

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_changes_where_no_file_does(tmp_path: Path) -> None:
    """The context stays the same one, also where a file was only touched."""
    tls = ListenerTls(in_pem(tmp_path))
    before = tls.context
    (tmp_path / "server.pem").touch()

    assert tls.refresh() == ()
    assert tls.context is before


def test_a_new_certificate(tmp_path: Path) -> None:
    """A key store that changed is used; who has shaken hands before is left alone."""
    tls = ListenerTls(in_pem(tmp_path))
    before, _ = shaken(tls.context, client_context())
    renewed = world().authority.server().write_pem(tmp_path / "server.pem")

    assert tls.refresh() == ()
    _, client = shaken(tls.context, client_context())

    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    assert ssl.DER_cert_to_PEM_cert(shown).split()[3] in renewed.read_text()
    before.write(b"still there")


def test_trust_and_revocation(tmp_path: Path) -> None:
    """An authority that is no longer trusted, and a list of revoked ones, count at once."""
    (tmp_path / "list").write_text(crl_pem(world().authority.revoked()))
    tls = ListenerTls(
        in_pem(tmp_path, ssl_client_auth="required", doorkeeper_ssl_crl_file=tmp_path / "list")
    )
    alice = client_context(world().alice, tmp_path)
    shaken(tls.context, alice)

    (tmp_path / "list").write_text(crl_pem(world().authority.revoked(world().alice)))
    assert tls.refresh() == ()
    with pytest.raises(ssl.SSLError):
        shaken(tls.context, alice)

    (tmp_path / "list").write_text(crl_pem(world().authority.revoked()))
    assert tls.refresh() == ()
    shaken(tls.context, alice)

    (tmp_path / "trusted.pem").write_text(Authority("Other").pem)
    assert tls.refresh() == ()
    with pytest.raises(ssl.SSLError):
        shaken(tls.context, alice)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("server.pem", "", "the file is empty"),
        ("server.pem", "-----BEGIN PRIVATE KEY-----", "the block PRIVATE KEY does not end"),
        ("server.pem", world().alice.key_pem() + world().server.chain_pem, "is not that of the"),
        ("trusted.pem", None, "No such file or directory"),
    ],
)
def test_a_broken_file(tmp_path: Path, file: str, text: str | None, said: str) -> None:
    """What was read before stays in use; the line is the same each time, till it is right."""
    tls = ListenerTls(in_pem(tmp_path))
    before, right = tls.context, (tmp_path / file).read_text()
    if text is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(text)

    problems = [tls.refresh(), tls.refresh()]

    assert problems[0] == problems[1]
    assert said in problems[0][0]
    assert problems[0][0].endswith("; the previous certificates remain in use")
    shaken(before, client_context())
    (tmp_path / file).write_text(right)
    assert tls.refresh() == ()
    assert tls.context is before


def test_a_certificate_for_somebody_else(tmp_path: Path) -> None:
    """Another name, or fewer alternative names, are refused unless that is allowed (KIP-978)."""
    other_name = world().authority.certify(("CN", "other"), hosts=("localhost", "127.0.0.1"))
    fewer = world().authority.certify(("CN", "localhost"), hosts=("127.0.0.1",))
    tls = ListenerTls(in_pem(tmp_path))
    lenient = ListenerTls(
        in_pem(tmp_path, ssl_allow_dn_changes="true", ssl_allow_san_changes="true")
    )

    said: list[str] = []
    for each in (other_name, fewer):
        each.write_pem(tmp_path / "server.pem")
        said += tls.refresh()
        assert lenient.refresh() == ()

    assert "the certificate is for 'CN=other', the one before was for 'CN=localhost'" in said[0]
    assert "lacks the alternative names localhost of the one before" in said[1]


def test_what_nobody_has_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An odd certificate may raise anything when it is looked at: that is a problem as others."""
    tls = ListenerTls(in_pem(tmp_path))
    before = tls.context

    def odd(*_given: object) -> None:
        raise TypeError("odd")

    monkeypatch.setattr(listener_tls, "build_context", odd)
    world().authority.server().write_pem(tmp_path / "server.pem")

    (problem,) = tls.refresh()

    assert "server.pem: a certificate or key cannot be used (TypeError); the previous" in problem
    assert tls.context is before
