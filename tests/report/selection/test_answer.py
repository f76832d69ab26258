"""The first sentence of a selection: the model that the rule is sure of, or that it is not."""

from typing import Any

import pytest

from jaxeval import bandits
from jaxeval.report.selection import as_json, terminal


def _tree(scores: dict[str, list[float]], **options: Any) -> as_json.Result:
    """What a rule of a budget of so many evaluations says of these scores."""
    spent = sum(map(len, scores.values()))
    rule = bandits.TopTwoThompson(**{"delta": 0.05, "budget": spent, **options})
    state = rule.begin([*scores])
    for model, known in scores.items():
        for score in known:
            state = rule.tell(state, model, score)
    answer = rule.answer(state)
    assert answer is not None
    return as_json.result(rule, state, answer)


FAR = {"a": [0.9, 0.91, 0.92, 0.9, 0.91], "b": [0.5, 0.52, 0.51, 0.5, 0.53]}
NEAR = {"a": [0.5, 0.6, 0.7, 0.55], "b": [0.52, 0.58, 0.66, 0.5]}


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_model_is_named_and_changes_with_the_scores(higher: bool) -> None:
    """Dies if the sentence names another model than the larger mean, or ignores the direction."""
    for best, scores in (
        ("ab"[not higher], FAR),
        ("ba"[not higher], {"a": FAR["b"], "b": FAR["a"]}),
    ):
        said = terminal.answer(_tree(scores, higher_is_better=higher))
        assert said.startswith(f"{best} is the best with probability ")
        assert float(said.split("probability ")[1].split(" ")[0]) >= 0.95


def test_what_is_not_decided_stands_in_the_sentence() -> None:
    """Dies if a leader passes for the best, or a probability below 1 - delta for enough."""
    tree = _tree(NEAR)
    p = tree["probability"]
    assert p is not None and 0.5 < p < 0.95
    assert terminal.answer(tree) == (
        "No model is the best with the required probability of 0.95; a leads with "
        f"{p:.3f} (the budget is spent; 8 evaluations)."
    )
    swapped = _tree({"a": NEAR["b"], "b": NEAR["a"]})
    assert f"; b leads with {p:.3f} (" in terminal.answer(swapped)
    near = terminal.answer(_tree(NEAR, epsilon=0.01))
    assert near.startswith("No model is within 0.01 of the best with the required probability")
    level = terminal.answer(_tree({"a": [0.5, 0.6, 0.7], "b": [0.5, 0.6, 0.7]}))
    assert level.startswith("Nothing decides between a and b; a is named, with probability 0.500")


def test_many_models_are_few_rows(capsys: pytest.CaptureFixture) -> None:
    """Dies if a long table hides the answer, a row that matters is cut, or --details cuts any."""
    scores = {
        f"m{k}": [0.1 * (k == 30) + 0.5 + 0.01 * n + k / 1e4 for n in range(3)] for k in range(40)
    }
    tree = _tree(scores)
    terminal.print_result(tree, ["1 runs left out", "2 runs left out"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == terminal.answer(tree) and "20 of 40 models; --details shows all" in lines
    assert sum(line.startswith("m30 ") for line in lines) == 1
    assert "1 runs left out (numbers differ)" in lines
    terminal.print_result(tree, ["1 runs left out", "2 runs left out"], details=True)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("m") for line in lines) == 2 * 40 + 1  # rows, scores, head
    assert {"1 runs left out", "2 runs left out"} <= {*lines}
