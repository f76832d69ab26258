"""Notes that say the same of many are one, with its count."""

from jaxeval.report import text


def test_notes_are_folded_by_kind_and_none_is_lost() -> None:
    """Dies if a kind is lost, two kinds are one, or the count is not that of the subjects."""
    notes = ["a: 3 runs left out", "b: not read: name", "c: 4 runs left out"]
    notes += ["both were drawn with seed 1", "c: not read: name", "task d: not read: rate"]
    assert text.fold(notes, "sweep") == [
        "2 sweeps (a, c): 3 runs left out (numbers differ)",
        "2 sweeps (b, c): not read: name",
        "both were drawn with seed 1",
        "d: not read: rate",
    ]
    assert text.fold(notes, "sweep", details=True) == notes
    many = text.fold([f"{'x' * k}" for k in range(1, 12)])
    assert len(many) == 9 and many[-1] == "3 more notes: --details"
