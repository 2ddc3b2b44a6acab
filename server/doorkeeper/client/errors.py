"""What can go wrong for a client.

    ClientError
        Unreachable       no server answers at any of the addresses
        TlsFailed         client and server do not trust each other, or one speaks no TLS
        ConnectionLost    a connection ended before its answers came
        TimedOut          no answer in time
        LoginRefused      the server does not let us in
        NotServed         the server does not speak an API, or no version that we speak
        Unsendable        a request that no message can carry
        ApiFailure        an answer with an error for the whole request

The texts are one line each and hold no secrets.
"""

from __future__ import annotations

from doorkeeper.errors import STOCK_TEXTS, ApiError, ErrorCode


class ClientError(Exception):
    """What was asked for was not done, or nobody knows whether it was."""


class Unreachable(ClientError):
    """No server answers."""


class TlsFailed(ClientError):
    """TLS does not come about; another try would end alike."""


class ConnectionLost(ClientError):
    """A connection ended; whether the server did what was asked is not known."""


class TimedOut(ClientError):
    """No answer came in time; whether the server did what was asked is not known."""


class LoginRefused(ClientError):
    """The server does not let us in; with Kafka's code and text, where it is a server's word."""

    def __init__(self, text: str, code: int | None = None, message: str | None = None) -> None:
        """Keep what the server said."""
        super().__init__(text)
        self.code = code
        self.message = message


class NotServed(ClientError):
    """The server does not speak what we would ask."""

    def __init__(self, text: str, message: str) -> None:
        """Keep the text, and that of Kafka's client."""
        super().__init__(text)
        self.code = 35
        self.message = message


class Unsendable(ClientError):
    """Nothing was sent: a text is too long or no text, or the server's version has no field."""


class ApiFailure(ClientError):
    """The answer to a whole request is an error."""

    def __init__(self, code: int, message: str | None) -> None:
        """Keep Kafka's code, and its text or the stock one."""
        self.code = code
        self.message = message or stock_text(code)
        super().__init__(f"{code_name(code)}: {self.message}")


def error_of(code: int, message: str | None) -> ApiError | None:
    """Return the error of one item of an answer; None for success.

    A code that this version does not know is an unknown error with the code in its text.
    """
    if code == 0:
        return None
    try:
        return ApiError(ErrorCode(code), message or stock_text(code))
    except ValueError:
        text = f"error {code}: {message or 'no text'}"
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)


def code_name(code: int) -> str:
    """Return Kafka's name for a code."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def stock_text(code: int) -> str:
    """Return Kafka's text for a code that came without one."""
    try:
        return STOCK_TEXTS.get(ErrorCode(code), "no text")
    except ValueError:
        return "no text"
