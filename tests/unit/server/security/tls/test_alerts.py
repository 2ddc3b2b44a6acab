"""Alerts of handshakes that fail."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.tls.sources import files_of
from doorkeeper.server.security.tls.alerts import AlertContext, alert_sender
from doorkeeper.server.security.tls.context import build_context
from testkit.certificates import world
from testkit.tls import client_context, in_pem, shaken

if TYPE_CHECKING:
    from pathlib import Path

ALERT = 0x15


def test_alert_of_a_failed_handshake_is_captured(tmp_path: Path) -> None:
    settings = in_pem(tmp_path, ssl_client_auth="required", ssl_enabled_protocols="TLSv1.2")
    context = build_context(settings, files_of(settings)).context
    told: list[bytes] = []
    token = alert_sender.set(told.append)
    try:
        shaken(context, client_context(world().alice, tmp_path))
        assert told == []
        with pytest.raises(ssl.SSLError):
            shaken(context, client_context(world().stranger, tmp_path))
    finally:
        alert_sender.reset(token)

    (alert,) = told
    assert isinstance(context, AlertContext)
    assert alert[0] == ALERT
