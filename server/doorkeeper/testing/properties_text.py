"""Writes Java properties files."""

from __future__ import annotations

from collections.abc import Mapping


def properties_text(values: Mapping[str, str]) -> str:
    """Return the text of a file, ASCII only; keys are plain words with dots."""
    return "".join(f"{key}={_escape(value)}\n" for key, value in values.items())


def _escape(value: str) -> str:
    """Escape a value: non-ASCII characters, backslashes, and a leading blank."""
    pairs = value.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(pairs[at : at + 2]) for at in range(0, len(pairs), 2)]
    return "".join(_character(unit, first=at == 0) for at, unit in enumerate(units))


def _character(unit: int, *, first: bool) -> str:
    if unit == ord("\\"):
        return "\\\\"
    if ord(" ") < unit < 127 or (unit == ord(" ") and not first):
        return chr(unit)
    return f"\\u{unit:04x}"
