"""The report of a ledger: what was kept, by how much, and what holds for all of it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import jaxeval
from jaxeval.bandits import Settle
from jaxeval.bandits.rules import State
from jaxeval.errors import ConfigError, DataError
from jaxeval.report import scores
from jaxeval.report.settlements import _MARKS, Settlements, settlement
from jaxeval.settle import ledger
from jaxeval.settle.sides import Side
from jaxeval.stats import describe, sequential

FIRST = Side("base", "python train.py --seed {seed}", "a0b1c2d")
MEANS = {"base": 0.80, "wide": 0.90, "same": 0.90, "bad": 0.80}  # of scores with sd .01
ASKED = {"margin": 0.0, "alpha": 0.05, "statistic": "t", "paired": False}
ORDER = ["wide", "same", "bad"]


def _score(side: str, seed: int, sign: int) -> float:
    return sign * (MEANS[side] + 0.01 * np.random.default_rng([seed, *side.encode()]).normal())


def _night(path: Path, *, correction: str = "e-lond", lower: bool = False) -> Settlements:
    """Settles three candidates one after the other with at most 8 seeds, and reports them."""
    sign, base = -1 if lower else 1, FIRST
    with ledger.opened(path) as book:
        for name in ORDER:
            other = Side(name, FIRST.name, f"{name}123")
            asked = {**ASKED, "correction": correction, "higher_is_better": not lower}
            begun = book.begin(base, other, f"{name} layers", asked)
            rule = Settle(higher_is_better=not lower, most=8, alpha=begun.level, known=begun.known)
            for n in range(3, 9):
                counts = {"base": (base.id, max(n, begun.known)), "candidate": (name, n)}
                known = {
                    side: {k: _score(id, begun.after + k, sign) for k in range(1, count + 1)}
                    for side, (id, count) in counts.items()
                }
                state = State(("base", "candidate"), known, dict.fromkeys(known, ()), {})
                if rule.answer(state):
                    break
            for side, (id, _) in counts.items():
                for k, score in known[side].items():
                    book.add(id, begun.after + k, score, 2.0, begun.number)
            found = settlement.settlement(rule, state, 1, {})
            book.decide(begun.number, found.verdict, found.to_dict())
            base = other if found.verdict == "better" else base
    return jaxeval.settle_report(path)


def test_candidates_and_bases(tmp_path: Path) -> None:
    """Dies if an outcome, a level, or the order of the bases is not the ledger's."""
    found = _night(tmp_path / "night.db")
    kept, same, bad = found.candidates
    assert [of.outcome for of in found.candidates] == ["kept", "undecided", "discarded"]
    assert [of.name for of in found.candidates] == [f"{name} layers" for name in ORDER]
    levels = [sequential.level(0.05, k, won, "e-lond") for k, won in ((1, 0), (2, 1), (3, 1))]
    assert [of.level for of in found.candidates] == levels
    assert [(of.name, of.kept, of.comparisons) for of in found.bases] == [
        (FIRST.name, None, [1]),
        ("wide layers", 1, [2, 3]),
    ]
    assert kept.difference is not None and bad.difference is not None
    assert kept.difference > 0 > bad.difference
    assert bad.runs == bad.seeds < same.runs == 16  # the base's scores are used again
    assert sum(of.runs for of in found.candidates) == found.runs
    assert found.seconds == 2.0 * found.runs


def test_a_base_that_comes_back_is_the_last_one(tmp_path: Path) -> None:
    """Dies if a first base that wins against the second is not the base now."""
    _night(tmp_path / "night.db")
    with ledger.opened(tmp_path / "night.db") as book:
        won = book.comparisons()[0]
        back = book.begin(won.candidate, won.base, "back", won.settings)
        book.decide(back.number, "better", won.result or {})
    found = jaxeval.settle_report(tmp_path / "night.db")
    assert [of.kept for of in found.bases] == [1, back.number]
    assert "The next base is back." in repr(found)


def test_a_base_has_no_score_with_which_it_won(tmp_path: Path) -> None:
    """Dies if the winner's curse is in a base's mean, noise, or fresh difference."""
    found = _night(tmp_path / "night.db")
    first, last = found.bases
    seen = found.candidates[0].seeds
    assert list(last.scores) == [_score("wide", seen + k, 1) for k in range(1, 9)]
    assert last.won == found.candidates[0].difference
    assert last.fresh == describe.difference(last.scores, first.scores)
    assert found.sd == pytest.approx(np.std(last.scores, ddof=1))
    level = sequential.level(0.05, 4, 1, "e-lond")
    assert found.next_level == level
    with ledger.opened(tmp_path / "night.db") as book:
        log_e = {of.number: (of.result or {})["log_e"] for of in book.comparisons()}
        assert found.p_value == pytest.approx(np.exp(-sequential.merge(log_e)))
        book.decide(1, "failed", book.comparisons()[0].result or {})
    log_e[1] = -np.inf  # the winner's evidence is gone
    assert jaxeval.settle_report(tmp_path / "night.db").p_value == pytest.approx(
        min(1, np.exp(-sequential.merge(log_e)))
    )
    least = sequential.smallest_difference(20, float(found.sd or 0), alpha=level)
    assert found.smallest[20] == pytest.approx(least)
    percent = scores.format_of("fraction", [[0.5, 0.51]])
    (table,) = settlement.planned({20: 0.012}, percent)
    assert table.rows == [("20", "1.20 points")] and "%" not in "".join(table.columns)


def test_losses_mirror_gains(tmp_path: Path) -> None:
    """Dies if a report of losses says other than that of the same scores turned round."""
    gains = _night(tmp_path / "gains.db")
    losses = _night(tmp_path / "losses.db", lower=True)
    for up, down in zip(gains.candidates, losses.candidates, strict=True):
        assert (up.outcome, up.seeds, up.runs) == (down.outcome, down.seeds, down.runs)
        assert up.difference == pytest.approx(-(down.difference or 0))
    assert repr(gains) == repr(losses) and gains.higher_is_better and not losses.higher_is_better


@pytest.mark.parametrize(
    "correction, said",
    [
        ("e-lond", "an expected share of at most 0.05 of the kept candidates is wrongly kept"),
        ("spending", "with probability 0.95 no candidate of the whole ledger is wrongly kept"),
        ("none", "up to 0.05 m are called better or worse"),
    ],
)
def test_what_the_correction_guarantees(tmp_path: Path, correction: str, said: str) -> None:
    """Dies if a report promises what its correction does not."""
    assert said in repr(_night(tmp_path / "night.db", correction=correction))


def test_mixed_corrections_promise_nothing(tmp_path: Path) -> None:
    """Dies if comparisons of several levels pass for one sequence."""
    path = tmp_path / "night.db"
    _night(path)
    with ledger.opened(path) as book:
        asked = {**ASKED, "alpha": 0.1, "correction": "none", "higher_is_better": True}
        book.begin(FIRST, Side("other", "x", ""), "", asked)
    found = jaxeval.settle_report(path)
    assert "nothing bounds their errors together" in repr(found)
    assert found.candidates[-1].outcome == "unfinished" and found.candidates[-1].name == "x"


def test_figures_tell_outcomes_apart_without_colour(tmp_path: Path) -> None:
    """Dies if two outcomes share a marker, a candidate's interval is that of another, or there is
    half a comparison."""
    found = _night(tmp_path / "night.db")
    marks = {(of["marker"], of.get("mfc")) for of in _MARKS.values()}
    assert len(marks) == len(_MARKS)
    (progress,) = found.document().figures()
    assert [row[:3] for row in progress.rows] == [
        (of.number, of.name, of.outcome) for of in found.candidates
    ]
    drawn = {line.get_marker() for line in progress.drawing.axes[0].lines}
    assert {_MARKS[of.outcome]["marker"] for of in found.candidates} < drawn
    first = found.candidates[0]
    assert first.interval is not None and first.mean is not None and first.difference is not None
    ends = [first.mean - first.difference + end for end in first.interval[:2]]
    lines = [[*map(float, line.get_ydata())] for line in progress.drawing.axes[0].lines]
    assert any(line == pytest.approx(ends) for line in lines)
    alone = dataclasses.replace(found, candidates=[first], bases=found.bases[:1])
    (progress,) = alone.document().figures()
    assert all(tick == round(tick) for tick in progress.drawing.axes[0].get_xticks())


def test_page_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a part of the page is missing where people look for it."""
    found = _night(tmp_path / "night.db")
    found.print()
    printed = capsys.readouterr().out
    assert "3 candidates: 1 kept, 1 discarded and 1 undecided" in printed
    for head in ("Base after base", "Noise floor", "won by", "level 0.0038"):
        assert head in printed, head
    (page,) = found.save(tmp_path / "night.html")
    assert page.read_text().count("<svg") == 1


def test_what_is_no_ledger(tmp_path: Path) -> None:
    """Dies if a missing, foreign or empty file gives a traceback or a page without candidates."""
    with pytest.raises(ConfigError, match="no such ledger"):
        jaxeval.settle_report(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("model,score\n")
    with pytest.raises(ConfigError, match="not a ledger"):
        jaxeval.settle_report(tmp_path / "text.db")
    with ledger.opened(tmp_path / "empty.db"):
        pass
    with pytest.raises(DataError, match="no comparison"):
        jaxeval.settle_report(tmp_path / "empty.db")
