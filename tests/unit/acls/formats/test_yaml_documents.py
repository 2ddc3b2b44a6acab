"""Documents of YAML are those of PyYAML, which is slow."""

from __future__ import annotations

import pytest
import yaml

from doorkeeper.acls.formats.documents import document_of_yaml
from doorkeeper.acls.formats.names import FormatError

TEXTS = [
    "",
    "a",
    "---\n[]\n...\n",
    "a: {b: [c, 'd', \"e\\u0041\", |-\n  f]}\n".replace("|-\n  f", "g"),
    "a: |\n  text\n  of lines\nb: >-\n  one\n  line\n",
    "[1, 0x1F, 1.5, .inf, true, No, null, ~, '', 2026-11-28, 1_000, 0o7, 012, 12:30:45]",
    "['1', \"true\", 'null']",
    "{1: a}",
    "{true: a, ~: b}",
    "? [a]\n: b",
    "x: &x [{a: 1}, {a: 2, b: 2}]\ny: {<<: *x, c: 3}\nz: {<<: {a: 1}, a: 2}\n",
    "{<<: 1}",
    "- <<",
    "a: *nothing",
    "&a a: *a\n",
    "!!int '7'",
    "! 7",
    "!unknown 7",
    "!!seq [!!str 7]",
    "--- &a 1\n",
    "x-a: &one {b: c}\nd: *one\ne: {<<: *one, f: g}\n",
    "!!str 1",
    "- =\n",
    "# a comment\nk: v # another\n",
    "\ufeffk: v\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_values_are_read_as_by_pyyaml(text: str) -> None:
    try:
        wanted = yaml.safe_load(text)
    except yaml.YAMLError:
        with pytest.raises(FormatError):
            document_of_yaml(text)
        return

    found = document_of_yaml(text)

    assert repr(found) == repr(wanted)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\nb: {c: 1,\n  c: 2}\n", "line 3: not YAML: duplicate key 'c' in a mapping"),
        ("x: &x {}\na: 1\na: 2\n", "line 3: not YAML: duplicate key 'a' in a mapping"),
        ("a: [\n", "line 2: not YAML: did not find expected node content"),
        ("[" * 101 + "]" * 101, "line 1: not YAML: nested too deeply"),
        ("&a " + "[" * 101 + "]" * 101, "line 1: not YAML: nested too deeply"),
        ("a: 1\n---\nb: 2\n", "not YAML: "),
        ("a: 1\nb: !!set {a}\n", "line 2: not YAML: found the tag tag:yaml.org,2002:set"),
        ("a: &a [*a]\n", "line 1: not YAML: found undefined alias 'a'"),
        ("a: {<<: {b: 1}, <<: {c: 1}}\n", "line 1: not YAML: duplicate key '<<'"),
        ("a: 1\nb: !x y\n", "line 2: not YAML: could not determine a constructor"),
    ],
)
def test_invalid_yaml_is_rejected(text: str, error: str) -> None:
    with pytest.raises(FormatError) as refused:
        document_of_yaml(text)

    assert str(refused.value).startswith(error) or error in str(refused.value)
