"""``doorkeeper config check --broker``: the files of real brokers and controllers, by all rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.version import __version__
from doorkeeper.cli.files import read_text
from doorkeeper.cli.json_records.stores import BrokerCheck
from doorkeeper.cli.terminal import counted, fail, paint, show, show_json
from doorkeeper.server.app.config_rules.checking import check, release_of
from doorkeeper.server.app.config_rules.containers import NotCompose, files_of
from doorkeeper.server.app.config_rules.rule import RULES, Product, Severity
from doorkeeper.server.app.rule_texts import rule_texts
from doorkeeper.server.config.loading import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from doorkeeper.server.app.config_rules.checking import Finding
    from doorkeeper.server.config.jaas_file import JaasFile

PAGE: Final = "docs/reference/config-rules.md"

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_STORE_BYTES_MAX: Final = 1 << 20


def check_brokers(
    files: Sequence[Path],
    *,
    jaas: JaasFile | None,
    environment: Path | None,
    release: str,
    output: str,
    strict: bool,
    reads_stores: bool = True,
) -> NoReturn:
    """Check the files of one cluster, print the findings, and end with the status.

    ``jaas`` is the JAAS file of the nodes, None if it is not known whether they have one.
    ``reads_stores`` says that the paths of key stores are those of this machine.
    """
    if jaas is not None and jaas.problems:
        fail(jaas.problems)
    configurations = [_file_of(file, jaas, reads_stores=reads_stores) for file in files]
    if environment is not None:
        configurations += _of_environment(environment, jaas)
    findings = check(configurations, release=release_of(release))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    if output == "text":
        show(_text(findings, configurations, release))
    elif output == "json":
        show_json(_json(findings, configurations, release))
    else:
        show_json(_sarif(findings))
    raise SystemExit(1 if errors or (strict and findings) else 0)


def _file_of(file: Path, jaas: JaasFile | None, *, reads_stores: bool) -> ConfigFile:
    data = properties.read_bytes(file)
    try:
        entries = properties.parse(data, str(file))
    except ConfigError as error:
        # A malformed escape is a finding of a rule.
        entries = list(error.entries)
    values = [entry.value.strip() for entry in entries if entry.key.endswith("store.location")]
    stores = dict(_stores(values)) if reads_stores else {}
    return ConfigFile(str(file), entries, data, jaas, files=stores)


def _stores(paths: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
    """Yield the stores that can be judged here: those that are there, or whose folder is."""
    for path in paths:
        file = Path(path)
        try:
            if file.is_file() and file.stat().st_size <= _STORE_BYTES_MAX:
                yield path, file.read_bytes()
            elif path and file.is_absolute() and file.parent.is_dir() and not file.exists():
                yield path, None
        except (OSError, ValueError):
            # Not to be read by us: the broker is another user, perhaps.
            continue


def _of_environment(file: Path, jaas: JaasFile | None) -> list[ConfigFile]:
    try:
        files = files_of(read_text(file), str(file))
    except NotCompose as error:
        fail([error])
    return [broker_file._replace(jaas=jaas) for broker_file in files]


def _text(findings: Sequence[Finding], files: Sequence[ConfigFile], release: str) -> Iterator[str]:
    rules = sum(rule.applies(Product.KAFKA, release_of(release)) for rule in RULES.values())
    for finding in findings:
        colour = "red" if finding.severity is Severity.ERROR else "yellow"
        yield f"{paint(finding.severity.value, colour)}: {finding}"
    if findings:
        yield f"for the meaning of the codes see {PAGE}"
    for file in files:
        own = [finding for finding in findings if finding.file == file.name]
        errors = sum(finding.severity is Severity.ERROR for finding in own)
        counts = f"{counted(errors, 'error')}, {counted(len(own) - errors, 'warning')}"
        keys = len({entry.key for entry in file.entries})
        verdict = f": Kafka {release} refuses to start with this file" if errors else ""
        yield (
            f"{file.name}: {counts} ({rules} rules about security keys of Kafka {release},"
            f" {counted(keys, 'key')} in the file){verdict}"
        )


def _line_of(finding: Finding) -> int | None:
    begin, _, line = finding.source.rpartition(" line ")
    return int(line) if begin and line.isdecimal() else None


def _json(findings: Sequence[Finding], files: Sequence[ConfigFile], release: str) -> BrokerCheck:
    return {
        "kafka": release,
        "files": [file.name for file in files],
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity.value,
                "title": rule_texts()[finding.code].title,
                "file": finding.file,
                "line": _line_of(finding),
                "key": finding.key or None,
                "text": finding.text,
                "page": f"{PAGE}#{finding.code.lower()}",
            }
            for finding in findings
        ],
    }


def _sarif(findings: Sequence[Finding]) -> Mapping[str, object]:
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "doorkeeper config check",
        "version": __version__,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": rule_texts()[code].title},
                "fullDescription": {"text": rule_texts()[code].why},
                "defaultConfiguration": {"level": RULES[code].severity.value},
            }
            for code in codes
        ],
    }
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.severity.value,
            "message": {"text": ": ".join(filter(None, (finding.key, finding.text)))},
            "locations": [{"physicalLocation": _location(finding)}],
        }
        for finding in findings
    ]
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(finding: Finding) -> dict[str, Any]:
    path = finding.source.partition(" line ")[0].partition(" service ")[0] or finding.file
    location: dict[str, Any] = {"artifactLocation": {"uri": path}}
    line = _line_of(finding)
    return location if line is None else {**location, "region": {"startLine": line}}
