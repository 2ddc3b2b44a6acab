"""doorkeeper_schemas.model."""

from doorkeeper_schemas.model import NONE, Versions


def test_ranges_are_closed() -> None:
    """Both ends of a range belong to it; the empty one holds nothing."""
    assert [version for version in range(6) if version in Versions(2, 4)] == [2, 3, 4]
    assert not any(version in NONE for version in (-1, 0, 32767))
