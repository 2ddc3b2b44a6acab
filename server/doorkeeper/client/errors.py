"""The exceptions of the client.

    ClientError
        Unreachable       no server answers at any of the addresses
        TlsFailed         a certificate is not trusted, or one side does not use TLS
        ConnectionLost    the connection ended before the response
        TimedOut          no response in time
        LoginRefused      the login failed
        NotServed         the server does not support an API, or no common version
        Unsendable        the request cannot be encoded
        NoSuchNode        no node of the cluster has an id
        WatchRefused      the server does not have the changes from a revision on
        ApiFailure        a response with an error for the whole request

The texts are one line each and contain no secrets.
"""

from __future__ import annotations

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode


class ClientError(Exception):
    """The operation failed, or its outcome is unknown."""


class Unreachable(ClientError):
    """No server answers at any of the addresses."""


class TlsFailed(ClientError):
    """The TLS handshake failed; a retry would fail too."""


class ConnectionLost(ClientError):
    """The connection ended; whether the server executed the request is unknown."""


class TimedOut(ClientError):
    """No response came in time; whether the server executed the request is unknown."""


class LoginRefused(ClientError):
    """The login failed; ``code`` and ``message`` are the server's, if it sent them."""

    def __init__(self, text: str, code: int | None = None, message: str | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.message = message


class NotServed(ClientError):
    """The server does not support the API."""

    def __init__(self, text: str, message: str) -> None:
        """Set the text, and that of Kafka's client (``message``)."""
        super().__init__(text)
        self.code = 35
        self.message = message


class NoSuchNode(ClientError):
    """No node of the cluster has the id; a node that stopped may return."""


class WatchRefused(ClientError):
    """The server does not have the changes from a revision on, or no stream of changes."""


class Unsendable(ClientError):
    """Nothing was sent: a text is too long or invalid, or the server's version lacks a field."""


class ApiFailure(ClientError):
    """The response to a whole request is an error."""

    def __init__(self, code: int, message: str | None) -> None:
        """Set Kafka's code, and its text or the stock one."""
        self.code = code
        self.message = message or stock_text(code)
        super().__init__(f"{code_name(code)}: {self.message}")


def error_of(code: int, message: str | None) -> ApiError | None:
    """Return the error of one item of a response; None for success.

    An unknown code becomes UNKNOWN_SERVER_ERROR with the code in its text.
    """
    if code == 0:
        return None
    try:
        return ApiError(ErrorCode(code), message or stock_text(code))
    except ValueError:
        text = f"error {code}: {message or 'no text'}"
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)


def code_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def stock_text(code: int) -> str:
    """Return Kafka's text for a code that came without one."""
    try:
        return DEFAULT_MESSAGES.get(ErrorCode(code), "no text")
    except ValueError:
        return "no text"
