"""The SASL mechanisms of a listener, and their login modules.

A mechanism's module is the first of: ``listener.name.<l>.<mechanism>.sasl.jaas.config``, the
section ``<l>.KafkaServer`` of the JAAS file, its section ``KafkaServer``. Without both prefixes
``sasl.jaas.config`` is ignored, as by a broker. A section may have modules of several mechanisms,
and several of one: the first option of each name applies.

Source: Kafka's ``JaasContext.loadServerContext`` and ``configEntryOption`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

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
    names = tuple(dict.fromkeys(raw.of(SASL_ENABLED_MECHANISMS, listener_name)))
    others = [name for name in names if name not in MODULES]
    if others or not names:
        found = f"found {', '.join(others) or 'nothing'} for listener {listener_name}"
        text = f"{found}; allowed: {', '.join(MODULES)}"
        raw.problem(SASL_ENABLED_MECHANISMS, text, listener_name)
    originals = {key: entry.value for key, entry in raw.entries.items()}
    mechanisms = []
    for name in filter(MODULES.__contains__, names):
        values, given_as = raw.values_of(listener_name, name)
        module, origin = _login_module(raw, name, listener_name, jaas_file)
        if module is not None:
            given_as[SASL_JAAS_CONFIG.name] = origin
        mechanism = MechanismSettings(
            name=name,
            listener_name=listener_name,
            login_module=module,
            values=values,
            given_as=given_as,
            originals=originals,
        )
        mechanisms.append(mechanism)
    return tuple(mechanisms)


class Module(NamedTuple):
    """The login modules of a mechanism, and where they stand: an entry, or a section of a file.

    ``error`` replaces malformed ones.
    """

    where: Entry | str
    modules: Sequence[LoginModule]
    error: str = ""

    def options(self, suffix: str) -> Mapping[str, str] | None:
        """Return the options of the first module whose class name ends so; None without one."""
        named = (module.options for module in self.modules if module.name.endswith(suffix))
        return next(named, None)


def module_of(
    entries: Mapping[str, Entry], jaas_file: JaasFile | None, listener: str, mechanism: str
) -> Module | None:
    """Return the login modules that a broker uses for a mechanism; None without any."""
    entry = entries.get(next(full_names(SASL_JAAS_CONFIG.name, listener, mechanism)))
    if entry is not None:
        try:
            return Module(entry, jaas.parse(entry.value))
        except jaas.JaasError as error:
            return Module(entry, (), str(error))
    for section in (f"{listener.lower()}.KafkaServer", "KafkaServer"):
        # As in Java, an empty section counts as missing.
        if jaas_file is not None and jaas_file.sections.get(section):
            return Module(f"{jaas_file.path} section {section}", jaas_file.sections[section])
    return None


def _login_module(
    raw: RawConfig, name: str, listener: str, jaas_file: JaasFile
) -> tuple[LoginModule | None, str]:
    """Return the login module of a mechanism and its key or section; record problems."""
    found, needs = (
        module_of(raw.entries, jaas_file, listener, name),
        _needs_module(raw, name, listener),
    )
    if found is None:
        if needs and not jaas_file.problems:
            raw.problem(SASL_JAAS_CONFIG, _missing(raw, name, listener), listener, name)
        return None, ""
    where, modules, error = found
    if isinstance(where, Entry):
        # As a broker, which rejects several modules in this key (JaasContext).
        if len(modules) != 1:
            text = f"found {len(modules)} login modules; allowed: one"
            raw.problem_at(where, error or text)
            return None, where.key
        if modules[0].name not in MODULES[name] and needs:
            raw.problem_at(where, f"the login module is not {MODULES[name][0]}")
        return modules[0], where.key
    own = [module for module in modules if module.name in MODULES[name]]
    if not own:
        if needs:
            raw.problem(SASL_JAAS_CONFIG, f"{where} has no {MODULES[name][0]}, for {name}")
        return None, where
    options: dict[str, str] = {}
    for module in own:
        # The first option of a name wins, as in configEntryOption.
        options = {**module.options, **options}
    return replace(own[0], options=options), where


def _missing(raw: RawConfig, name: str, listener: str) -> str:
    key = next(full_names(SASL_JAAS_CONFIG.name, listener, name))
    offer = f"listener {listener} offers {name}"
    if raw.entry(SASL_ENABLED_MECHANISMS, listener) is None:
        offer += ", Kafka's default for sasl.enabled.mechanisms,"
    near = meant_for(raw.entries, listener, name)
    hint = f"{near} is not read: " if near else ""
    example = f"{MODULES[name][0]} required {_OPTIONS[name]};"
    return f"{offer} and has no login module for it: {hint}give {key}={example} {_NO_FILE_HINT}"


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


def _needs_module(raw: RawConfig, name: str, listener: str) -> bool:
    """Return whether a mechanism cannot authenticate any user without its login module."""
    if name == "PLAIN":
        values, _ = raw.values_of(listener, "plain")
        return not any(values.get(key.name) for key in USERS_ELSEWHERE)
    return name in _OPTIONS
