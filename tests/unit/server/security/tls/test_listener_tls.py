"""The TLS of the moment."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.tls import listener_tls
from doorkeeper.server.security.tls.listener_tls import ListenerTls
from testkit.certificates import Authority, crl_pem, world
from testkit.edge import Log
from testkit.tls import client_context, in_pem, shaken

if TYPE_CHECKING:
    from pathlib import Path

NOT_RELOADED = "files not reloaded: the previous values stay in use"


def test_unchanged_files_keep_the_context(tmp_path: Path) -> None:
    tls = ListenerTls(in_pem(tmp_path), Log())
    before = tls.context

    tls.refresh()

    assert tls.context is before


def test_changed_certificate_is_used(tmp_path: Path) -> None:
    tls = ListenerTls(in_pem(tmp_path), Log())
    before, _ = shaken(tls.context, client_context())
    renewed = world().authority.server().write_pem(tmp_path / "server.pem")

    tls.refresh()
    _, client = shaken(tls.context, client_context())

    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    assert ssl.DER_cert_to_PEM_cert(shown).split()[3] in renewed.read_text()
    before.write(b"still there")


def test_changed_trust_and_revocation_are_used(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(crl_pem(world().authority.revoked()))
    tls = ListenerTls(
        in_pem(tmp_path, ssl_client_auth="required", doorkeeper_ssl_crl_file=tmp_path / "list"),
        Log(),
    )
    alice = client_context(world().alice, tmp_path)
    shaken(tls.context, alice)

    (tmp_path / "list").write_text(crl_pem(world().authority.revoked(world().alice)))
    tls.refresh()
    with pytest.raises(ssl.SSLError):
        shaken(tls.context, alice)

    (tmp_path / "list").write_text(crl_pem(world().authority.revoked()))
    tls.refresh()
    shaken(tls.context, alice)

    (tmp_path / "trusted.pem").write_text(Authority("Other").pem)
    tls.refresh()
    with pytest.raises(ssl.SSLError):
        shaken(tls.context, alice)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("server.pem", "", "the file is empty"),
        ("server.pem", "-----BEGIN PRIVATE KEY-----", "the block PRIVATE KEY has no end line"),
        ("server.pem", world().alice.key_pem() + world().server.chain_pem, "does not belong to"),
        ("trusted.pem", None, "No such file or directory"),
    ],
)
def test_invalid_file_keeps_the_context(
    tmp_path: Path, file: str, text: str | None, said: str
) -> None:
    log = Log()
    tls = ListenerTls(in_pem(tmp_path), log)
    before, right = tls.context, (tmp_path / file).read_text()
    if text is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(text)

    tls.refresh()
    tls.refresh()

    assert said in str(log.one(NOT_RELOADED).fields["problem"])
    assert tls.context is before
    shaken(before, client_context())
    (tmp_path / file).write_text(right)
    tls.refresh()
    shaken(tls.context, client_context())
    assert log.events("info") == ["files reloaded"]


def test_certificate_for_another_name_is_rejected(tmp_path: Path) -> None:
    """Another name, or fewer alternative names, are refused unless that is allowed (KIP-978)."""
    other_name = world().authority.certify(("CN", "other"), hosts=("localhost", "127.0.0.1"))
    fewer = world().authority.certify(("CN", "localhost"), hosts=("127.0.0.1",))
    log, lenient_log = Log(), Log()
    tls = ListenerTls(in_pem(tmp_path), log)
    lenient = ListenerTls(
        in_pem(tmp_path, ssl_allow_dn_changes="true", ssl_allow_san_changes="true"), lenient_log
    )

    for certified in (other_name, fewer):
        certified.write_pem(tmp_path / "server.pem")
        tls.refresh()
        lenient.refresh()
    said = [str(line.fields["problem"]) for line in log.lines]
    assert lenient_log.events() == ["files reloaded"] * 2

    assert "the certificate is for 'CN=other', the previous one was for 'CN=localhost'" in said[0]
    assert (
        "lacks the alternative names localhost of the previous one; to allow this, set" in said[1]
    )


def test_unexpected_errors_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    tls = ListenerTls(in_pem(tmp_path), log)
    before = tls.context

    def odd(*_given: object) -> None:
        raise TypeError("odd")

    monkeypatch.setattr(listener_tls, "build_context", odd)
    world().authority.server().write_pem(tmp_path / "server.pem")

    tls.refresh()

    problem = str(log.one(NOT_RELOADED).fields["problem"])
    assert problem.endswith("server.pem: the certificate or key cannot be used (TypeError)")
    assert tls.context is before
