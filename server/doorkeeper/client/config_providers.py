"""Variables in a client's properties: ``${env:NAME}``, ``${file:PATH:KEY}``, ``${dir:PATH:NAME}``.

    config.providers=env,file
    config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    sasl.jaas.config=... password="${env:KAFKA_PASSWORD}";

A Java client leaves a variable as it stands if its provider is not declared, or has no value, and
logs in with that text as a password. Here it is an error, which names the variable only.

Source: ``ConfigTransformer``, ``AbstractConfig.resolveConfigVariables``, and the three providers of
Kafka (KIP-297, KIP-421, KIP-887, KIP-993).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doorkeeper.base.encodings import not_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    Settings = Mapping[str, str]

PROVIDERS_KEY: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider"
CLASSES: Final = {
    "env": f"{_PACKAGE}.EnvVarConfigProvider",
    "file": f"{_PACKAGE}.FileConfigProvider",
    "dir": f"{_PACKAGE}.DirectoryConfigProvider",
}
"""The supported providers, by the names that they usually have."""

_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


class VariableError(ValueError):
    """A variable cannot be resolved; the text begins with the key of the property."""


def resolve(values: Settings, environment: Settings) -> dict[str, str]:
    """Return properties with their variables replaced, once.

    Raises:
        VariableError: a provider is unknown or not declared, or a variable has no value.
    """
    names = [name.strip() for name in values.get(PROVIDERS_KEY, "").split(",") if name.strip()]
    kinds = {name: _kind_of(name, values) for name in names}

    def text_of(key: str, text: str) -> str:
        def value_of(match: re.Match[str]) -> str:
            name, path, variable = match[1], match[2] or "", match[3]
            if name not in kinds:
                # Java's client takes such a text as it stands; a password may hold it.
                if name not in CLASSES:
                    return match[0]
                raise VariableError(
                    f"{key}: found {match[0]}, but {PROVIDERS_KEY} does not name {name}; expected:"
                    f" {PROVIDERS_KEY}={name} and {PROVIDERS_KEY}.{name}.class={CLASSES[name]}"
                )
            try:
                parameters = with_prefix(values, f"{PROVIDERS_KEY}.{name}.param.")
                return _value_of(kinds[name], path, variable, parameters, environment)
            except ValueError as error:
                raise VariableError(f"{key}: {match[0]}: {error}") from None

        return _VARIABLE.sub(value_of, text)

    # The keys of the providers themselves have no variables: they would resolve each other. Java
    # trims values after it has replaced their variables.
    return {
        key: text if key.startswith(PROVIDERS_KEY) else text_of(key, text).strip()
        for key, text in values.items()
    }


def value_of_variable(reference: str, environment: Settings) -> str:
    """Return the value of one variable, of any of the supported providers.

    Raises:
        ValueError: it has no value; the text does not begin with the variable.
    """
    match = _VARIABLE.fullmatch(reference)
    assert match is not None
    return _value_of(match[1], match[2] or "", match[3], {}, environment).strip()


def _kind_of(name: str, values: Settings) -> str:
    key = f"{PROVIDERS_KEY}.{name}.class"
    class_name = values.get(key, "")
    for kind, supported in CLASSES.items():
        if class_name == supported:
            return kind
    raise VariableError(
        f"{key}: found {class_name or 'nothing'}; allowed: {', '.join(CLASSES.values())}"
    )


def with_prefix(values: Settings, prefix: str) -> dict[str, str]:
    """Return the values whose keys have a prefix, without it."""
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def _value_of(kind: str, path: str, name: str, parameters: Settings, environment: Settings) -> str:
    """Return the value of a variable of a kind of provider."""
    if kind == "env":
        return _of_environment(path, name, parameters, environment)
    if kind == "dir":
        # It would lead out of the folder.
        if "/" in name:
            raise ValueError("the name of a file must not contain a slash")
        return _text_of(path and f"{path}/{name}", parameters, "${dir:PATH:NAME}")
    import javaproperties

    # Java reads these in UTF-8, unlike the properties of the client.
    properties = javaproperties.loads(_text_of(path, parameters, "${file:PATH:KEY}"))
    if name not in properties:
        raise ValueError("no such key in the file")
    value: str = properties[name]
    return value


def _of_environment(path: str, name: str, parameters: Settings, environment: Settings) -> str:
    if path:
        raise ValueError(
            "found a path in a reference to an environment variable; expected: ${env:NAME}"
        )
    pattern = parameters.get("allowlist.pattern")
    try:
        if pattern is not None and re.fullmatch(pattern, name) is None:
            raise ValueError(f"the name does not match allowlist.pattern {pattern}")
    except re.error as error:
        raise ValueError(f"allowlist.pattern: {error}") from None
    if name not in environment:
        raise ValueError("no such environment variable")
    return environment[name]


def _text_of(path: str, parameters: Settings, form: str) -> str:
    if not path:
        raise ValueError(f"expected {form}")
    allowed = parameters.get("allowed.paths", "").strip()
    # Resolved, so that no link and no .. leads out of the allowed folders.
    real = Path(path).resolve()
    if allowed and not any(
        real.is_relative_to(Path(folder.strip()).resolve()) for folder in allowed.split(",")
    ):
        raise ValueError(f"the path is not in allowed.paths: {allowed}")
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {not_utf8(error)}") from None
