"""doorkeeper_schemas.naming."""

from construct import Int8sb, Int32sb

from doorkeeper_schemas.naming import Functions, Structs, code_of


def test_consecutive_versions_share_a_function() -> None:
    """The same text in the next version is the same function; a text of long ago is not."""
    functions = Functions()

    names = [
        functions.named("read", version, "()", body)
        for version, body in enumerate(["one", "one", "two", "one"])
    ]

    assert names == ["read_v0", "read_v0", "read_v2", "read_v3"]
    assert functions.source().count("def ") == 3


def test_structs_are_named_by_what_they_hold() -> None:
    """A run has one constant, however often it is used."""
    structs = Structs("unpack")

    assert structs.named(("h", "i", "16s")) == "_unpack_int16_int32_uuid"
    assert structs.named(("h", "i", "16s")) == "_unpack_int16_int32_uuid"
    assert structs.source() == '_unpack_int16_int32_uuid = Struct(">hi16s").unpack_from'


def test_codes() -> None:
    """construct's long is our int32."""
    assert code_of(Int32sb) == "i"
    assert code_of(Int8sb) == "b"
