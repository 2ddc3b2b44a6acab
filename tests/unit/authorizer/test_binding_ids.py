"""The ids of bindings."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from doorkeeper.authorizer.binding_ids import BindingIds


def test_ids_have_22_characters_and_differ() -> None:
    """URL-safe base64, not beginning with a hyphen, whatever is drawn."""
    new_id = BindingIds()
    found = {new_id() for _ in range(500)} | {BindingIds()() for _ in range(500)}

    assert len(found) == 1000
    assert {len(each) for each in found} == {22}
    assert all(each.replace("-", "a").replace("_", "a").isalnum() for each in found)
    assert not any(each.startswith("-") for each in found)


def test_what_is_made_together_shares_its_beginning() -> None:
    """Ten thousand ids, the most that one request makes, lie side by side in a store."""
    new_id = BindingIds(lambda size: b"\x12" * size)

    found = [new_id() for _ in range(10_000)]

    assert len(set(found)) == 10_000
    assert len({each[:18] for each in found}) == 1


def test_a_number_whose_text_begins_with_a_hyphen_is_drawn_again() -> None:
    """As one that was counted to, and as the first one."""
    drawn = iter([b"\xfb" * 16, b"\xf8" + bytes(15), b"\x01" * 16])
    new_id = BindingIds(lambda _: next(drawn))

    assert new_id() == "AQEBAQEBAQEBAQEBAQEBAg"


def test_behind_the_highest_number_comes_zero() -> None:
    """The counter does not outgrow its bytes."""
    new_id = BindingIds(lambda size: b"\xff" * size)

    assert new_id() == "A" * 22


def test_ids_count_up_across_bytes() -> None:
    """Each is the text of the number after the one before, also where a byte overflows."""
    first = int.from_bytes(b"\x12" * 14 + b"\x34\xfe")
    new_id = BindingIds(lambda _: first.to_bytes(16))

    numbers = range(first + 1, first + 600)
    assert [new_id() for _ in numbers] == [
        urlsafe_b64encode(number.to_bytes(16)).decode()[:22] for number in numbers
    ]
