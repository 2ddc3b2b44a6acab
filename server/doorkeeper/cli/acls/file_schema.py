"""``doorkeeper acls schema``: the JSON schema of files of ACLs, for editors and CI."""

from __future__ import annotations

import json

import click

from doorkeeper.acl.formats.schema import schema as schema_of_files


@click.command(
    epilog="""
\b
Exit statuses: 0 printed; 2 wrong usage.

\b
Examples:
  doorkeeper acls schema > acls.schema.json
  doorkeeper acls schema | check-jsonschema --schemafile /dev/stdin teams/*.yaml
"""
)
def schema() -> None:
    """Print the JSON schema of files of ACLs, for editors and for checks in CI."""
    # Made anew: its enumerations are those of the installed version.
    click.echo(json.dumps(schema_of_files(), indent=2))
