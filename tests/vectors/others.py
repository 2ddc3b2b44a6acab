"""The foreign encoders in Python: kio and kafka-python 3. Each returns hex, or None."""

import dataclasses
import importlib
import io
import types
import typing
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.sasl
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from doorkeeper_wire.declared.schema_file import snake

_KAFKA_PYTHON = (
    kafka.protocol.admin,
    kafka.protocol.metadata,
    kafka.protocol.sasl,
    kafka.protocol.consumer,
)


_TIMES = ("timedelta", "datetime")
"""Beginnings of kio's names for numbers of milliseconds, whose fields have other names there."""


def kafka_python_bytes(name: str, version: int, values: dict[str, Any]) -> str | None:
    """Return what kafka-python makes of the values; None when it has no such message."""
    found = [getattr(module, name) for module in _KAFKA_PYTHON if hasattr(module, name)]
    if not found or not name.endswith(("Request", "Response")) or version > found[0].max_version:
        return None
    try:
        return bytes(_kafka_python(found[0], version, values).encode()).hex()
    except (AttributeError, TypeError, ValueError):
        # It cannot write null structs, nor leave a field out that older versions lack.
        return None


def _kafka_python(kind: Any, version: int, values: dict[str, Any]) -> Any:
    fields = {field.name: field for field in kind._struct.fields.values()}
    converted: dict[str, Any] = {}
    for key, value in values.items():
        inner = getattr(kind, fields[key].type_str, None) if key in fields else None
        if isinstance(value, list) and value and isinstance(value[0], dict):
            converted[key] = [_kafka_python(inner, version, item) for item in value]
        elif isinstance(value, dict):
            converted[key] = _kafka_python(inner, version, value)
        elif isinstance(value, bytes) and fields[key].type_str == "uuid":
            converted[key] = uuid.UUID(bytes=value)
        else:
            converted[key] = value
    return kind(version=version, **converted)


def kio_bytes(name: str, version: int, values: dict[str, Any]) -> str | None:
    """Return what kio makes of the values; None when it has no such message or version."""
    kind = _kio_class(name, version)
    if kind is None:
        return None
    stream = io.BytesIO()
    try:
        entity_writer(kind)(stream, _kio(kind, values))
    except (TypeError, ValueError):
        return None
    return stream.getvalue().hex()


@cache
def _kio_class(name: str, version: int) -> Any:
    module = snake(
        name if name.endswith("Header") else name.removesuffix("Request").removesuffix("Response")
    )
    suffix = next((word for word in ("request", "response") if name.lower().endswith(word)), "data")
    if name.endswith("Header"):
        suffix = "header"
    try:
        return getattr(importlib.import_module(f"kio.schema.{module}.v{version}.{suffix}"), name)
    except ImportError:
        return None


def _kio(kind: Any, values: dict[str, Any]) -> Any:
    hints = typing.get_type_hints(kind)
    converted = {}
    for field in dataclasses.fields(kind):
        kafka_type = field.metadata.get("kafka_type", "")
        key = f"{field.name}_ms" if kafka_type.startswith(_TIMES) else field.name
        key = key.removeprefix("request_") if key not in values else key
        if key in values:
            converted[field.name] = _kio_value(values[key], kafka_type, hints[field.name])
    if len(converted) != len(values):
        raise ValueError(kind)
    return kind(**converted)


def _kio_value(value: Any, kafka_type: str, hint: Any) -> Any:  # noqa: PLR0911 - one a kind
    if value is None:
        return None
    if isinstance(value, list):
        inner = _args(hint)[0]
        return tuple(_kio_value(item, kafka_type, inner) for item in value)
    if isinstance(value, dict):
        return _kio(_args(hint)[0] if _args(hint) else hint, value)
    match kafka_type:
        case "error_code":
            return ErrorCode(value)
        case "uuid":
            return uuid.UUID(bytes=value) if any(value) else None
        case kind if kind.startswith("timedelta"):
            return timedelta(milliseconds=value)
        case kind if kind.startswith("datetime"):
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=value)
        case _:
            return value


def _args(hint: Any) -> tuple[Any, ...]:
    """Return the arguments of a type, without the None of an optional one."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        inner = [part for part in typing.get_args(hint) if part is not types.NoneType]
        return _args(inner[0]) or (inner[0],)
    return tuple(arg for arg in typing.get_args(hint) if arg is not Ellipsis)
