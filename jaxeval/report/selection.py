"""The selection of the best model: its result, and its progress."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jaxeval.bandits import Answer, Rule, State
from jaxeval.bandits.confidence import Confident
from jaxeval.bandits.running import Evaluated
from jaxeval.files import Json
from jaxeval.report import Document, Result, Table, scores, text
from jaxeval.stats import describe

_MOST_SHOWN = 4  # models in a line of progress
_MEANING = (
    "P(best) is a posterior probability for normal scores at the moment of stopping. It does not "
    "hold however often you look; jaxeval settle makes such a claim about two models."
)


@dataclasses.dataclass(frozen=True, repr=False)
class Selection(Result):
    """The outcome of a selection."""

    best: str  # the model that was chosen, or leads
    probability: float | None  # that it is best; None if the rule or the scores give none
    reason: str  # for stopping
    undecided: tuple[str, ...]  # models that nothing decides between, `best` first
    evaluations: int
    probability_of_best: Mapping[str, float]
    proportions: Mapping[str, float]  # of the evaluations
    scores: Mapping[str, Sequence[float]]
    constant: Sequence[str]  # models whose scores are all equal
    excluded: Mapping[str, str]  # model -> why it was dropped
    rule: Mapping[str, Json]  # name and settings
    signature: str
    metric: str | None = None
    direction_assumed: bool = False
    unit: str | None = None
    part: str | None = None  # of the data, for configs
    source: str | None = None
    recorded: Mapping[str, int] | None = None  # of a replay: scores in the table
    failures: Sequence[object] = ()  # tests of the failure rates of a table
    failed: Sequence[str] = ()  # sentences about them
    unusable: Sequence[object] = ()
    warnings: Sequence[str] = ()

    def document(self) -> Document:
        """Returns the answer, a row for each model, and notes on the scores."""
        scale = scores.format_of(self.unit or "", self.scores.values())
        known = self.probability_of_best
        rows = [
            (model, *scale.described(of), f"{known[model]:.4f}" if model in known else "-")
            for model, of in self.scores.items()
        ]
        rule = re.sub(r"\B(?=[A-Z])", "-", str(self.rule["name"]).removesuffix("Thompson"))
        higher = bool(self.rule["higher_is_better"])
        scored = f"{self.part or ''} {self.metric or 'score'}".strip()
        dropped = (f"{model} was dropped: {why}." for model, why in self.excluded.items())
        return Document(
            (self._answer(), *dropped, *self.failed),
            (
                Table(
                    ("model", "evaluations", *map(scale.label, ("mean", "sd")), "P(best)"), rows
                ),
                *(() if self.probability is None else (_MEANING,)),
            ),
            (
                text.direction(higher, self.direction_assumed, scored),
                *(describe.all_equal(m, len(self.scores[m])) for m in self.constant),
                *self.warnings,
            ),
            details=lambda: scores.listed(self.scores),
            title="Selection",
            signature=f"{rule.lower()} | {self.signature}",
            noun="model",
        )

    def _answer(self) -> str:
        p = self.probability
        delta = self.rule.get("delta")
        required = 1 - delta if isinstance(delta, float) else None
        if self.undecided:
            line = f"{text.listed(self.undecided)} cannot be told apart; {self.best} is named"
            line += "" if p is None else f", which is the best with probability {p:.3f}"
        elif p is None:
            line = f"{self.best} is chosen; its probability of being the best is unknown"
        elif required is None or p >= required:
            line = f"{self.best} is the best with probability {p:.3f}"
        else:
            line = (
                f"No model is the best with the required probability of {required:g}; "
                f"{self.best} leads with {p:.3f}"
            )
        if self.failed:
            named = line.startswith(self.best)
            line = f"Of the runs that finished, {line if named else line[0].lower() + line[1:]}"
        spent = text.counted(self.evaluations, "evaluation")
        if self.recorded is not None:
            total = text.counted(sum(self.recorded.values()), "recorded score")
            spent = f"a replay: {text.counted(self.evaluations, 'draw')} from {total}"
        return f"{line} ({self.reason}; {spent})."


def result(
    rule: Rule, state: State, answer: Answer, more: Mapping[str, Any] = MappingProxyType({})
) -> Selection:
    """Returns the outcome of a selection; `more` has further fields of `Selection`."""
    spent = state.evaluations
    known = {model: state.scores_of(model) for model in state.models}
    return Selection(
        best=answer.best,
        probability=answer.probability,
        reason=answer.reason,
        undecided=answer.undecided,
        evaluations=spent,
        probability_of_best=_probabilities(rule, state),
        proportions={model: len(of) / max(1, spent) for model, of in known.items()},
        scores=known,
        constant=[m for m, of in known.items() if len(of) > 1 and len(set(of)) == 1],
        excluded=state.excluded,
        rule=rule.to_dict(),
        signature=text.versions(),
        **more,
    )


def _probabilities(rule: Rule, state: State) -> dict[str, float]:
    """Returns P(best) by model, or nothing if the rule or the scores give none."""
    if not isinstance(rule, Confident) or len(state.alive) < 2:
        return {}
    moments = rule.moments(state)
    if not rule.known(moments):
        return {}
    shares = rule.probabilities(moments)
    return dict(zip(state.alive, map(float, shares), strict=True))


def progress(rule: Rule, event: Evaluated, unit: str = "") -> str:
    """Returns a line about an evaluation that has ended; `unit` is that of the score, or ""."""
    spent = text.counted(event.state.evaluations, "evaluation")
    head = f"{spent} in all; {event.model}, evaluation {event.number}: "
    if event.score is None:
        return head + event.note
    known = sorted(_probabilities(rule, event.state).items(), key=lambda item: -item[1])
    listed = ", ".join(f"{model} {p:.3f}" for model, p in known[:_MOST_SHOWN])
    score = scores.shown(event.score, unit) if unit else f"{event.score:g}"
    label = " ".join(filter(None, ("score", scores.label("", unit).strip() if unit else "")))
    return f"{head}{label} {score}" + (f"; P(best): {listed}" if listed else "")
