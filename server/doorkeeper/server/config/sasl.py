"""The SASL mechanisms of a listener, and their login modules.

A mechanism's module is the first of: ``listener.name.<l>.<mechanism>.sasl.jaas.config``, the
section ``<l>.KafkaServer`` of the JAAS file, its section ``KafkaServer``. Without both prefixes
``sasl.jaas.config`` is ignored, as by a broker. A section may have modules of several mechanisms,
and several of one: the first option of each name applies.

Source: Kafka's ``JaasContext.loadServerContext`` and ``configEntryOption`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from doorkeeper.base import jaas
from doorkeeper.base.entry import Entry
from doorkeeper.base.jaas import LoginModule
from doorkeeper.base.key import NOTHING, KeyValues
from doorkeeper.server.config.jaas_file import JaasFile
from doorkeeper.server.config.naming import full_names
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.sasl_keys import (
    SASL_ENABLED_MECHANISMS,
    SASL_JAAS_CONFIG,
    SASL_PLAIN_USERS_FILE,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)

_SCRAM = ("org.apache.kafka.common.security.scram.ScramLoginModule",)
# The mechanisms, and the login modules that Kafka documents for each.
MODULES: Final = {
    "PLAIN": ("org.apache.kafka.common.security.plain.PlainLoginModule",),
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": ("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",),
    "GSSAPI": (
        "com.sun.security.auth.module.Krb5LoginModule",
        "com.ibm.security.auth.module.Krb5LoginModule",
    ),
}

# Example options of the mechanisms that require a login module.
_OPTIONS = {"PLAIN": 'user_alice="..."', "GSSAPI": 'useKeyTab=true keyTab="..." principal="..."'}

# With one of these keys PLAIN needs no login module.
USERS_ELSEWHERE: Final = (SASL_SERVER_CALLBACK_HANDLER_CLASS, SASL_PLAIN_USERS_FILE)

_NO_FILE_HINT = "or a section KafkaServer in the file of doorkeeper.jaas.file"


class MechanismSettings(KeyValues, frozen=True, kw_only=True):
    """Settings of one SASL mechanism on one listener: ``settings[KEY]`` is the value of a key.

    ``login_module`` is that of ``sasl.jaas.config`` or a JAAS file, or None. ``originals`` are all
    keys, for plug-ins.
    """

    name: str
    listener_name: str
    login_module: LoginModule | None = None
    originals: Mapping[str, str] = NOTHING


def mechanisms_of(
    raw: RawConfig, listener_name: str, jaas_file: JaasFile
) -> tuple[MechanismSettings, ...]:
    """Return the mechanisms of a SASL listener; record problems."""
    return tuple(
        _settings(raw, name, listener_name, jaas_file)
        for name in _mechanism_names(raw, listener_name)
    )


def _mechanism_names(raw: RawConfig, listener: str) -> tuple[str, ...]:
    """Return the names of the mechanisms; record unknown ones."""
    names = tuple(dict.fromkeys(raw.of(SASL_ENABLED_MECHANISMS, listener)))
    others = [name for name in names if name not in MODULES]
    if others or not names:
        found = f"found {', '.join(others) or 'nothing'} for listener {listener}"
        raw.problem(SASL_ENABLED_MECHANISMS, f"{found}; allowed: {', '.join(MODULES)}", listener)
    return tuple(name for name in names if name in MODULES)


def _settings(
    raw: RawConfig, name: str, listener_name: str, jaas_file: JaasFile
) -> MechanismSettings:
    values, given_as = raw.values_of(listener_name, name)
    module, origin = _find_module(raw, name, listener_name, jaas_file)
    if module is not None:
        given_as[SASL_JAAS_CONFIG.name] = origin
    return MechanismSettings(
        name=name,
        listener_name=listener_name,
        login_module=module,
        values=values,
        given_as=given_as,
        originals={key: entry.value for key, entry in raw.entries.items()},
    )


def _find_module(
    raw: RawConfig, name: str, listener: str, jaas_file: JaasFile
) -> tuple[LoginModule | None, str]:
    """Return the login module of a mechanism and its key or section; record problems."""
    key = next(full_names(SASL_JAAS_CONFIG.name, listener, name))
    if key in raw.entries:
        return _of_entry(raw, raw.entries[key], name, listener), key
    for section in (f"{listener.lower()}.KafkaServer", "KafkaServer"):
        modules = jaas_file.sections.get(section)
        # As in Java, an empty section counts as missing.
        if modules:
            origin = f"{jaas_file.path} section {section}"
            return _of_section(raw, name, listener, modules, origin), origin
    if _needs_module(raw, name, listener) and not jaas_file.problems:
        example = f"{MODULES[name][0]} required {_OPTIONS[name]};"
        offer = f"listener {listener} offers {name}"
        if raw.entry(SASL_ENABLED_MECHANISMS, listener) is None:
            offer += ", Kafka's default for sasl.enabled.mechanisms,"
        near = meant_for(raw.entries, listener, name)
        hint = f"{near} is not read: " if near else ""
        text = f"{offer} and has no login module for it: {hint}give {key}={example} {_NO_FILE_HINT}"
        raw.problem(SASL_JAAS_CONFIG, text, listener, name)
    return None, ""


def meant_for(keys: Iterable[str], listener: str, mechanism: str) -> str:
    """Return the key that was probably meant for a login module; empty without one.

    Source: ``JaasContext.loadServerContext``: listener and mechanism are in lower case.
    """
    exact = misspelled(keys, listener, mechanism)
    if exact:
        return exact
    mechanism = mechanism.lower()
    right = next(full_names(SASL_JAAS_CONFIG.name, listener, mechanism))
    others = [key for key in keys if key.endswith(SASL_JAAS_CONFIG.name)]
    near = similar(right, [key for key in others if f".{mechanism}." in key.lower()])
    return near or (SASL_JAAS_CONFIG.name if SASL_JAAS_CONFIG.name in others else "")


def misspelled(keys: Iterable[str], listener: str, mechanism: str) -> str:
    """Return the key that differs from the right one only in case, or lacks a part of its prefix.

    Empty without one.
    """
    right, without_mechanism, _ = full_names(SASL_JAAS_CONFIG.name, listener, mechanism)
    wider = (without_mechanism, f"{mechanism.lower()}.{SASL_JAAS_CONFIG}")
    return next(
        (key for key in keys if key != right and (key.lower() == right or key in wider)), ""
    )


def similar(name: str, names: Sequence[str]) -> str:
    """Return the name that was probably meant; empty if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, names, n=1, cutoff=0.6)), "")


def _of_entry(raw: RawConfig, entry: Entry, name: str, listener: str) -> LoginModule | None:
    try:
        modules = jaas.parse(entry.value)
    except jaas.JaasError as error:
        raw.problem_at(entry, str(error))
        return None
    # As a broker, which rejects several modules in this key (JaasContext).
    if len(modules) != 1:
        raw.problem_at(entry, f"found {len(modules)} login modules; allowed: one")
        return None
    if modules[0].name not in MODULES[name] and _needs_module(raw, name, listener):
        raw.problem_at(entry, f"the login module is not {MODULES[name][0]}")
    return modules[0]


def _of_section(
    raw: RawConfig, name: str, listener: str, modules: Sequence[LoginModule], origin: str
) -> LoginModule | None:
    own = [module for module in modules if module.name in MODULES[name]]
    if not own:
        if _needs_module(raw, name, listener):
            raw.problem(SASL_JAAS_CONFIG, f"{origin} has no {MODULES[name][0]}, for {name}")
        return None
    options: dict[str, str] = {}
    for module in own:
        # The first option of a name wins, as in configEntryOption.
        options = {**module.options, **options}
    return replace(own[0], options=options)


def _needs_module(raw: RawConfig, name: str, listener: str) -> bool:
    """Return whether a mechanism cannot authenticate any user without its login module."""
    if name == "PLAIN":
        values, _ = raw.values_of(listener, "plain")
        return not any(values.get(key.name) for key in USERS_ELSEWHERE)
    return name in _OPTIONS
