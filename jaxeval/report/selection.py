"""A selection of the best model: its numbers, what is said of them, its progress."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jaxeval.bandits import Answer, Rule, State, posterior
from jaxeval.bandits.confidence import Confident
from jaxeval.bandits.evaluate import BLOCK, Evaluated
from jaxeval.files import Json
from jaxeval.report import scores, text
from jaxeval.report.document import Document, Table
from jaxeval.report.result import Result
from jaxeval.stats import describe

_MOST_SHOWN = 4  # models in a line of progress
_MEANING = (
    "P(best) is the posterior probability, for normal scores, at the moment of stopping; it does "
    "not bound how often such an answer is wrong."
)


@dataclasses.dataclass(frozen=True, repr=False)
class Selection(Result):
    """What a selection ended with.

    Attributes:
      best: the model that was chosen, or leads.
      probability: that it is the best; None of a rule or of scores that do not say.
      reason: why it ended.
      undecided: models between which nothing decides, of which `best` is the first.
      evaluations: in all.
      probability_of_best, proportions, scores: by model; proportions of the evaluations.
      constant: models whose scores are all equal.
      excluded: model -> why it was dropped.
      rule: its name and settings.
      direction_assumed: nothing says whether higher scores are better.
      part: of the data, of configs.
      recorded: model -> scores in the table, of a replay.
      items: of a selection over items: how many there are, those of a block, and how many of all
        answers to all of them were asked for.
      failures, failed: tests of the shares of failed runs of a table, and what they say.
    """

    best: str
    probability: float | None
    reason: str
    undecided: tuple[str, ...]
    evaluations: int
    probability_of_best: Mapping[str, float]
    proportions: Mapping[str, float]
    scores: Mapping[str, Sequence[float]]
    constant: Sequence[str]
    excluded: Mapping[str, str]
    rule: Mapping[str, Json]
    signature: str
    metric: str | None = None
    direction_assumed: bool = False
    unit: str | None = None
    part: str | None = None
    source: str | None = None
    recorded: Mapping[str, int] | None = None
    items: Mapping[str, int] | None = None
    failures: Sequence[object] = ()
    failed: Sequence[str] = ()
    unusable: Sequence[object] = ()
    warnings: Sequence[str] = ()

    def document(self) -> Document:
        """The answer, a row a model, and what is to be known of the scores."""
        label = scores.label("", self.unit or "").strip()
        mean, sd = (f"{name} {label}".strip() for name in ("mean", "sd"))
        rows = [self._row(model) for model in self.scores]
        return Document(
            (self._answer(), *self.failed),
            (
                Table(("model", "evaluations", mean, sd, "P(best)"), rows),
                *(() if self.probability is None else (_MEANING,)),
            ),
            (*self._notes(), *self.warnings),
            [f"{m}: {', '.join(f'{x:g}' for x in of)}" for m, of in self.scores.items()],
            title="Selection",
            signature=f"{self.rule['name']} | {self.signature}",
            noun="model",
        )

    def _answer(self) -> str:
        """The best model, how sure that is, and what it took; first of all if nothing decides."""
        p, delta = self.probability, self.rule.get("delta")
        required = 1 - delta if isinstance(delta, float) else None
        if self.undecided:
            head = f"Nothing decides between {text.listed(self.undecided)}; {self.best} is named"
            head += "" if p is None else f", with probability {p:.3f} the best"
        elif p is None:
            head = f"{self.best} is chosen; how probably it is the best is not known"
        elif required is None or p >= required:
            head = f"{self.best} is the best with probability {p:.3f}"
        else:
            head = (
                f"No model is the best with the required probability of {required:g}; "
                f"{self.best} leads with {p:.3f}"
            )
        if self.failed:
            named = head.startswith(self.best)
            head = f"Of the runs that finished, {head if named else head[0].lower() + head[1:]}"
        return f"{head} ({self.reason}; {self._spent()})."

    def _spent(self) -> str:
        if self.recorded is not None:
            total = text.counted(sum(self.recorded.values()), "recorded score")
            return f"a replay: {text.counted(self.evaluations, 'draw')} from {total}"
        spent = text.counted(self.evaluations, "evaluation")
        if self.items is None:
            return spent
        answers, every = self.items["answers"], self.items["all"]
        return f"{spent}, {answers} of {every} answers, {answers / every:.0%}"

    def _notes(self) -> Iterator[str]:
        """Which scores are better, and what to know of single models."""
        higher = bool(self.rule["higher_is_better"])
        yield f"{self.metric or 'score'}: {text.direction(higher, self.direction_assumed)}"
        yield from (f"{model} was dropped: {reason}" for model, reason in self.excluded.items())
        for model in self.constant:
            yield describe.all_equal(model, len(self.scores[model]))

    def _row(self, model: str) -> Sequence[str]:
        of, p = self.scores[model], self.probability_of_best.get(model)
        probability = "-" if p is None else f"{p:.4f}"
        if not of:
            return model, "0", "-", "-", probability
        unit, mean = self.unit or "", posterior.mean(np.array(of))
        shown = scores.shown(mean, unit) if unit else f"{mean:.4g}"
        # not `stats.describe`: its intervals import scipy.stats, as long as an evaluation takes
        sd = scores.factor(unit) * np.std(np.array(of) - of[0], ddof=1) if len(of) > 1 else None
        return model, str(len(of)), shown, "-" if sd is None else f"{sd:.4g}", probability


def result(
    rule: Rule,
    state: State,
    answer: Answer,
    items: int | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Selection:
    """The outcome of a selection.

    Args:
      items: of a selection over items, how many there are.
      more: fields of `Selection` that the source of the scores knows.
    """
    spent, known = state.evaluations, {model: state.scores_of(model) for model in state.models}
    asked = None
    if items is not None:
        every = len(state.models) * items
        asked = {"items": items, "block": BLOCK, "answers": spent * BLOCK, "all": every}
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
        items=asked,
        **more,
    )


def _probabilities(rule: Rule, state: State) -> dict[str, float]:
    """Of being the best, for rules and states that have them."""
    if not isinstance(rule, Confident) or len(state.alive) < 2:
        return {}
    moments = rule.moments(state)
    if not rule.known(moments):
        return {}
    shares = rule.probabilities(moments)
    return dict(zip(state.alive, map(float, shares), strict=True))


def progress(rule: Rule, event: Evaluated, unit: str = "") -> str:
    """What happened, in a line.

    Args:
      unit: of the scores; "": not known.
    """
    spent = text.counted(event.state.evaluations, "evaluation")
    head = f"{spent} in all; {event.model}, evaluation {event.number}: "
    if event.score is None:
        return head + event.note
    known = sorted(_probabilities(rule, event.state).items(), key=lambda item: -item[1])
    listed = ", ".join(f"{model} {p:.3f}" for model, p in known[:_MOST_SHOWN])
    score = scores.shown(event.score, unit) if unit else f"{event.score:g}"
    label = " ".join(filter(None, ("score", scores.label("", unit).strip() if unit else "")))
    return f"{head}{label} {score}" + (f"; P(best): {listed}" if listed else "")
