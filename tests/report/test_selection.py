"""What is said of a selection: the model that the rule is sure of, or that it is not."""

import dataclasses
from typing import Any

import pytest

from jaxeval import bandits
from jaxeval.report import selection


def _selected(scores: dict[str, list[float]], **options: Any) -> selection.Selection:
    """What a rule of a budget of so many evaluations says of these scores."""
    spent = sum(map(len, scores.values()))
    rule = bandits.TopTwoThompson(**{"delta": 0.05, "budget": spent, **options})
    state = rule.begin([*scores])
    for model, known in scores.items():
        for score in known:
            state = state.tell(model, score)
    answer = rule.answer(state)
    assert answer is not None
    return selection.result(rule, state, answer)


FAR = {"a": [0.9, 0.91, 0.92, 0.9, 0.91], "b": [0.5, 0.52, 0.51, 0.5, 0.53]}
NEAR = {"a": [0.5, 0.6, 0.7, 0.55], "b": [0.52, 0.58, 0.66, 0.5]}


def test_what_is_not_decided_stands_in_the_sentence() -> None:
    """Dies if a leader passes for the best, or a probability below 1 - delta for enough."""
    found = _selected(NEAR)
    p = found.probability
    assert p is not None and 0.5 < p < 0.95
    assert repr(found) == (
        "No model is the best with the required probability of 0.95; a leads with "
        f"{p:.3f} (the budget is spent; 8 evaluations)."
    )
    equal = repr(_selected({"a": [0.5, 0.6, 0.7], "b": [0.5, 0.6, 0.7]}))
    assert equal.startswith(
        "a and b cannot be told apart; a is named, which is the best with probability 0.500"
    )


def test_what_is_printed(capsys: pytest.CaptureFixture) -> None:
    """Dies if a model has no row, its scores are printed unasked, a dropped one is not named,
    a zero at the end is dropped, or Python is told of a flag."""
    found = dataclasses.replace(_selected(FAR), excluded={"c": "no score"}, unit="fraction")
    found.print()
    first, *lines = capsys.readouterr().out.splitlines()
    assert f"{first}\n{lines[0]}" == repr(found) and "mean (%)" in lines[2]
    assert "details=True prints all results" in lines
    assert lines[3].split()[:4] == ["a", "5", "90.80", "0.84"]
    assert lines[4].split()[2:4] == ["51.20", "1.30"]
    assert lines[0] == "c was dropped: no score." and "a: 0.9, 0.91" not in "".join(lines)
    found.print(details=True)
    assert "a: 0.9, 0.91, 0.92" in capsys.readouterr().out
    assert found.document().signature.startswith("top-two | ")  # as --rule names it
