"""``doorkeeper acls schema``: the JSON schema of files of ACLs, for editors and CI."""

from __future__ import annotations

import json

import click

from doorkeeper.acls.formats.assertions import assertion_schema
from doorkeeper.acls.formats.schema import schema as schema_of_files


@click.command(
    epilog="""
\b
Exit statuses: 0 printed; 2 wrong usage.

\b
Examples:
  doorkeeper acls schema > acls.schema.json
  doorkeeper acls schema | check-jsonschema --schemafile /dev/stdin teams/*.yaml
  doorkeeper acls schema --rules > acl-rules.schema.json
"""
)
@click.option("--rules", is_flag=True, help="The schema of the rules of doorkeeper acls assert.")
def schema(*, rules: bool) -> None:
    """Print the JSON schema of files of ACLs, for editors and for checks in CI."""
    # Made anew: its enumerations are those of the installed version.
    click.echo(json.dumps(assertion_schema() if rules else schema_of_files(), indent=2))
