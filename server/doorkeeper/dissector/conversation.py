"""The two directions of one connection: responses are matched to requests by correlation id."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from doorkeeper.dissector.dissection import Dissection, request_id
from doorkeeper_wire.api_keys import API_NAMES, ApiKey

if TYPE_CHECKING:
    from doorkeeper.dissector.dissection import Kind
    from doorkeeper.dissector.frame_cutter import Frame

_PENDING_MAX: Final = 1000
"""Requests of a connection without a response yet; brokers handle far fewer at once."""

_CORRELATION_ID: Final = slice(4, 8)


class Conversation:
    """The state of one connection that the next frames depend on.

    After a SaslHandshake of version 0 tokens follow without headers, until a frame is a valid
    request from end to end.
    """

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._pending: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._had_tokens = False
        self._expects_tokens = False

    def request(self, frame: Frame) -> Dissection:
        """Return the dissection of the client's next frame."""
        if self._expects_tokens:
            if not self._is_request(frame):
                return self._dissection(frame, "token")
            self._expects_tokens = False
        found = request_id(frame)
        if found is not None and found.api_key in API_NAMES:
            self._pending[found.correlation_id] = found.api_key, found.version
            if len(self._pending) > _PENDING_MAX:
                # A response that the capture lacks must not be remembered for ever.
                self._pending.popitem(last=False)
            # KIP-43: tokens follow without a Kafka header. Version 1 sends them in
            # SaslAuthenticate.
            if found[:2] == (ApiKey.SASL_HANDSHAKE, 0):
                self._expects_tokens = self._had_tokens = True
        return self._dissection(frame, "request")

    def response(self, frame: Frame) -> Dissection:
        """Return the dissection of the server's next frame."""
        data = frame.data[_CORRELATION_ID]
        request = self._pending.pop(int.from_bytes(data, "big", signed=True), None)
        if request is not None and len(data) == _CORRELATION_ID.stop - _CORRELATION_ID.start:
            return self._dissection(frame, "response", *request)
        return self._dissection(frame, "token" if self._had_tokens else "response")

    def _is_request(self, frame: Frame) -> bool:
        # A token can look like a request header, so the whole frame must decode.
        trial = self._dissection(frame, "request")
        for _ in trial.fields():
            pass
        return trial.error is None and not trial.note

    def _dissection(
        self, frame: Frame, kind: Kind, api_key: int | None = None, version: int | None = None
    ) -> Dissection:
        return Dissection(frame, kind, api_key, version, frame_bytes_max=self._frame_bytes_max)
