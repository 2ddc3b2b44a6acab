"""A JAAS file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.jaas import JaasError, LoginModule
from doorkeeper.server.config.jaas_file import NO_FILE, expand, java_properties, parse, read

if TYPE_CHECKING:
    from pathlib import Path

TWO = """
// A comment; # is none.
KafkaServer {
    com.example.First required
        user_alice="it's \\"hers\\""
        "quoted key"=word ;
    com.example.Second OPTIONAL;
};
/* Another
   comment. */
clients.KafkaServer {
};
"""


def test_sections_modules_and_options() -> None:
    """Each section has its modules in order; one may have none."""
    assert parse(TWO, {}) == {
        "KafkaServer": (
            LoginModule(
                "com.example.First",
                "REQUIRED",
                {"user_alice": 'it\'s "hers"', "quoted key": "word"},
            ),
            LoginModule("com.example.Second", "OPTIONAL", {}),
        ),
        "clients.KafkaServer": (),
    }
    assert parse("", {}) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KafkaServer", "line 1: the file ends; expected: { after the name of a section"),
        ("A {\n B required", "line 2: the file ends; expected: an option, or a semicolon"),
        ("A {\n B sure;\n};", "line 2: expected required, requisite, sufficient or optional"),
        ("A {\n B required\n k;\n};", "line 3: expected: = after the name of an option"),
        ("A {\n B required\n k=9092;\n};", "line 3: expected: a value, in double quotes"),
        ("A {\n B required\n k='hush';\n};", "line 3: expected: a value, in double quotes"),
        ('A {\n B required\n k="hush\nhush";\n};', "line 4: expected: = after the name"),
        ("A {\n B required;\n}", "line 3: the file ends; expected: a semicolon after the }"),
        ("A {};\nA {};", "line 2: duplicate section name"),
        ('A { "" required; };', "line 1: expected the class of a login module"),
        ('A { B required k="${hush}"; };', "line 1: ${...} in a value names none of /, user.home"),
        ('A { B required k="${user.home}"; };', "line 1: a value is empty after replacing ${...}"),
    ],
)
def test_error_has_position_and_hides_the_text(text: str, said: str) -> None:
    with pytest.raises(JaasError) as caught:
        parse(text, {"/": "/", "user.home": ""})

    assert said in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        ("", ""),
        ("${user.home}${/}k", "/own/k"),
        ("a${user.home", "a${user.home"),
        ("${{user.home}}${/}", "${{user.home}}/"),
        ("x${{a}}y${/}z", "x${{a}}y/z"),
    ],
)
def test_java_properties_are_replaced(value: str, expanded: str) -> None:
    assert expand(value, {"/": "/", "user.home": "/own"}) == expanded


def test_unknown_property_is_an_error() -> None:
    """As in Java, which would not read the file at all."""
    with pytest.raises(KeyError):
        expand("${no.such}", java_properties())


def test_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text("KafkaServer { a.B required\n k=\u00fc; };", encoding="utf-8")
    wrong = tmp_path / "wrong.conf"
    wrong.write_text("KafkaServer {\n a.B hush; };")
    large = tmp_path / "large.conf"
    large.write_bytes(b" " * ((1 << 20) + 1))

    assert read("") == NO_FILE
    assert read(str(file)).sections["KafkaServer"][0].options == {"k": "\u00fc"}
    (problem,) = read(str(wrong)).problems
    assert str(problem).startswith(f"{wrong} line 2: expected required, requisite")
    assert str(read(str(tmp_path / "no")).problems[0]).endswith("No such file or directory")
    assert str(read(str(tmp_path)).problems[0]).endswith("Is a directory")
    assert "is it a JAAS file?" in str(read(str(large)).problems[0])


def test_byte_order_mark_is_not_part_of_the_first_section(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_bytes(b"\xef\xbb\xbfKafkaServer { com.example.First required; };")

    found = read(str(file))

    assert found.problems == ()
    assert list(found.sections) == ["KafkaServer"]
