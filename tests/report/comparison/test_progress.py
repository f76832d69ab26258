"""What is said while a comparison takes its time."""

import pytest

from jaxeval.report.comparison import progress


def test_nothing_is_said_of_what_is_quick(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a quick comparison talks, or a slow one is silent or floods the terminal."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    show = progress.shown()
    for step in range(40):
        show(step / 40)
        now[0] += 0.1
    assert capsys.readouterr().err == ""
    for share in (0.25, 0.26, 0.5):
        now[0] += 3
        show(share)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "comparing: 25% done, about 21 s left",
        "comparing: 50% done, about 13 s left",
    ]
    now[0] += 600
    show(0.6)
    assert "about 7 min left; --control MODEL compares" in capsys.readouterr().err
    show = progress.shown(all_pairs=False)
    now[0] += 600
    show(0.6)
    assert capsys.readouterr().err == "comparing: 60% done, about 7 min left\n"
