"""Notes that say the same of many are one, with its count."""

from jaxeval.report import folding


def test_notes_are_folded_by_kind_and_none_is_lost() -> None:
    """Dies if a kind is lost, two kinds are one, or the count is not that of the subjects."""
    notes = [
        ("a", "3 runs left out"),
        ("b", "not read: name"),
        ("c", "4 runs left out"),
        ("", "both were drawn with seed 1"),
        ("c", "not read: name"),
        ("d", "not read: rate"),
    ]
    assert folding.folded(notes, "sweep") == [
        "2 sweeps (a, c): 3 runs left out (numbers differ)",
        "2 sweeps (b, c): not read: name",
        "both were drawn with seed 1",
        "d: not read: rate",
    ]
