"""The keys of TLS of one listener."""

from __future__ import annotations

from doorkeeper.tls.settings import TlsSettings

SETTINGS = TlsSettings(
    listener_name="DOOR",
    security_protocol="SSL",
    values={"a": " x ", "b": "", "words": "x, y,,x", "yes": "True", "secret": "s3cret"},
    given_as={"a": "listener.name.door.a", "words": "words"},
)


def test_values() -> None:
    """Texts lose their spaces, an empty one is none, a list has each element once."""
    assert [SETTINGS.text(key) for key in ("a", "b", "c")] == ["x", None, None]
    assert SETTINGS.words("words") == ("x", "y")
    assert [SETTINGS.flag(key) for key in ("yes", "a", "c")] == [True, False, False]


def test_where_a_value_comes_from() -> None:
    """A problem names the key as it is given; a listener's own is told from the server's."""
    assert [SETTINGS.is_given(key) for key in ("a", "words", "b")] == [True, True, False]
    assert [SETTINGS.is_given_here(key) for key in ("a", "words", "b")] == [True, False, False]
    assert str(SETTINGS.problem("a", "wrong")) == "listener.name.door.a: wrong"
    assert str(SETTINGS.problem("b", "wrong")) == "b: wrong"


def test_no_secret_is_shown() -> None:
    """The repr leaves the values out."""
    assert "s3cret" not in repr(SETTINGS)
