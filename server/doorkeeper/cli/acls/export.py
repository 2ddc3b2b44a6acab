"""``doorkeeper acls export`` and ``render``: whole sets of ACLs, written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from doorkeeper.acls.formats.built_in_roles import BUILT_IN
from doorkeeper.acls.formats.choosing import WRITTEN, Format, write
from doorkeeper.acls.formats.entities import records_of_entities
from doorkeeper.acls.formats.records import write_json, write_yaml
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    Location,
    at_option,
    location_options,
    read_contents,
    take_location,
)
from doorkeeper.cli.acls.ownership import selector_of, selectors
from doorkeeper.cli.acls.plans import side_of
from doorkeeper.cli.files import write_text
from doorkeeper.cli.json_records.questions import AclSet
from doorkeeper.cli.options import PATH, STATUSES
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import say
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import has_json
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress

_format = named_option(
    "--output",
    "format_name",
    type=click.Choice([member.value for member in WRITTEN]),
    default=Format.YAML.value,
    show_default=True,
)


@click.command(
    cls=Command,
    epilog=f"""{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper acls export kafka://localhost:9092 > acls.yaml
  doorkeeper acls export config:server.properties --output csv --out acls.csv
""",
)
@_format
@has_json(AclSet)
@named_option("--out", "out_file", type=PATH, default_text="stdout")
@selectors
@at_option
@location_options()
def export(format_name: str, out_file: Path | None, **options: Any) -> None:
    """Write the ACLs at ADDRESS, sorted."""
    owned = selector_of(options)
    location = take_location(options)
    # Sorted, so that exports of one set are equal byte by byte and can be kept in Git.
    contents = read_contents(location)
    with progress("writing"):
        bindings = sorted(binding for binding in contents.bindings if owned.selects(binding))
        text = write(bindings, Format(format_name))
    if contents.bindings and not bindings:
        say(f"note: --own-... selects none of the {len(contents.bindings)} ACLs in {location.name}")
    if out_file is None:
        _write_stdout(text)
        return
    write_text(out_file, text)
    say(f"{len(bindings)} ACLs of {side_of(location, contents)} written to {out_file}")


@click.command(
    cls=Command,
    epilog=f"""
The built-in roles: {", ".join(BUILT_IN)}.
{STATUSES}
\b
Examples:
  doorkeeper acls render teams/payments.yaml
  doorkeeper acls render teams/ common.yaml --output kafka
""",
)
@click.argument(
    "names",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(),
)
@_format
@has_json(AclSet)
def render(names: tuple[str, ...], format_name: str) -> None:
    """Write the plain ACLs of files and folders, with their roles expanded, sorted.

    YAML and JSON have the topics, users and quotas of the files too.
    """
    first, *others = (Address(AddressKind.FILE, name) for name in names)
    contents = read_contents(Location(first, others=tuple(others)))
    with progress("writing"):
        text = _render(contents, Format(format_name))
    _write_stdout(text)


def _render(contents: AclContents, written_as: Format) -> str:
    bindings, entities = sorted(contents.bindings), contents.entities.entities
    sections = records_of_entities(entities)
    if written_as is Format.YAML:
        return write_yaml(bindings, sections)
    if written_as is Format.JSON:
        return write_json(bindings, sections=sections)
    if entities:
        say(
            f"note: the format {written_as.value} cannot represent the {len(entities)} topics,"
            " users and quotas, which are omitted"
        )
    return write(bindings, written_as)


def _write_stdout(text: str) -> None:
    # As bytes: CSV has line ends of its own.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
