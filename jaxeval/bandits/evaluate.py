"""Runs a selection: asks the rule, evaluates side by side, tells; failures are tried again.

An evaluation is a function of (model, number) -> score. The k-th evaluation of every model shares
split k and seed k. So a selection that was stopped begins anew, and finds the scores it had.
"""

import contextlib
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.bandits import commands
from jaxeval.bandits.confidence import Confident, NonAdaptive
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json

Evaluate = Callable[[str, int], float]
Job = tuple[str, int]  # model, number of the evaluation
ANSWERED = "all items are answered"  # by all models
BLOCK = 20  # items of an evaluation


class Evaluated(NamedTuple):
    """What happened last, and the state after it."""

    state: State
    model: str
    number: int
    score: float | None  # None: the evaluation failed
    note: str


def run(
    rule: Rule,
    models: Sequence[str],
    evaluate: Evaluate,
    *,
    workers: int = 1,
    retries: int = 1,
    most: int | None = None,
) -> Generator[Evaluated, None, None]:
    """Evaluates models until the rule has its answer.

    Args:
      rule: decides what is evaluated next.
      evaluate: (model, number) -> score, as of `commands.working`.
      workers: evaluations at once; the rule's `batch_size` should be as large.
      retries: times that a failed evaluation is tried again; then its model is dropped.
      most: evaluations that there are of each model; None: any number. Where the rule asks for
        more, what is under way ends, and no more is asked for: `answer` says what is known then.

    Yields:
      What happened, after every score and every failure.

    Raises:
      RunError: every model was dropped; with the last error of each.
    """
    state = rule.begin(models)
    with commands.working(evaluate, workers, retries) as team:
        while rule.answer(state) is None:
            asked = rule.ask(state)
            if most is None or beyond(state, asked, dict.fromkeys(state.models, most)) is None:
                for model in asked:
                    state, number = state.start(model)
                    team.waiting.append((model, number))
            elif not team.busy:
                return
            for job, result in team.next_results():
                if job[0] not in state.excluded:
                    evaluated = _evaluated(state, job, result, team)
                    state = evaluated.state
                    yield evaluated


def _evaluated(
    state: State,
    job: Job,
    result: float | commands.EvaluationFailed,
    team: commands.Workers[Job],
) -> Evaluated:
    """What comes of a result: a score, another try, or a dropped model."""
    model, number = job
    if isinstance(result, float):
        return Evaluated(state.tell(model, result, number), model, number, result, "")
    if team.try_again(job):
        return Evaluated(state, model, number, None, f"{result}; tried again")
    team.drop(model)
    dropped = state.exclude(
        model, f"evaluation {number} failed {team.retries + 1} times: {result}"
    )
    return Evaluated(dropped, model, number, None, f"{result}; {model} was dropped")


def answer(rule: Rule, state: State, most: int | None = None) -> Answer:
    """The answer of a selection that `run` has ended; `most` as there."""
    decided = rule.answer(state)
    if decided is not None:
        return decided
    assert most is not None
    counts = [len(state.scores[model]) for model in state.alive]
    if isinstance(rule, NonAdaptive) and rule.delta is None:  # all have answered all
        return rule.leading(state, ANSWERED)
    model = beyond(state, rule.ask(state), dict.fromkeys(state.models, most))
    assert model is not None
    reason = ANSWERED if min(counts) == most else f"{model} has answered all items"
    return cut_short(rule, state, model, reason)


def beyond(state: State, asked: Sequence[str], most: Mapping[str, int]) -> str | None:
    """The first model of which more evaluations are asked for than there are."""
    times = Counter(asked)
    over = (model for model in state.models if state.begun(model) + times[model] > most[model])
    return next(over, None)


def cut_short(rule: Rule, state: State, model: str, reason: str) -> Answer:
    """The answer where more evaluations of a model are asked for than there are.

    Raises:
      DataError: a rule that spends a fixed budget has none before it is spent.
    """
    if isinstance(rule, Confident) and rule.delta is not None:
        return rule.leading(state, reason)
    raise DataError(f"budget: more scores of {model} are asked for than there are; spend less")


def refuse_beyond(rule: Rule, models: int, most: int) -> None:
    """Refuses a fixed budget that asks a model for more than there is, before it is spent.

    Args:
      most: evaluations that there are of each model.

    Raises:
      ConfigError: sequential halving whose last model would be asked for more.
    """
    if isinstance(rule, SequentialHalving) and rule.of_last(models) > most:
        raise ConfigError(
            f"{argument('budget', rule.budget)}: of the last of {models} models it asks for "
            f"{rule.of_last(models)} evaluations, and there are {most}; spend less"
        )


def blocks(items: int, seed: int = 0, size: int = BLOCK) -> np.ndarray:
    """[blocks, size] numbers of items from 0 in random order; those that are left over are out.

    Raises:
      ConfigError: fewer than three blocks.
    """
    if items < 3 * size:
        raise ConfigError(
            f"{argument('items', items)}: expected three blocks of {size} items or more"
        )
    order = np.random.default_rng(seed).permutation(items)
    return order[: items // size * size].reshape(-1, size)


@dataclasses.dataclass
class Recorded:
    """The scores of a selection on disk.

    Attributes:
      scores: model -> number -> score.
    """

    file: files.StateFile
    scores: dict[str, dict[int, float]]

    def has(self, model: str, number: int) -> bool:
        """Whether there is a score of this evaluation."""
        return number in self.scores.get(model, {})

    def add(self, model: str, number: int, score: float) -> None:
        """Writes the file anew, with one more score."""
        self.scores.setdefault(model, {})[number] = score
        self.file.write(
            {name: {str(k): of[k] for k in sorted(of)} for name, of in self.scores.items()}
        )


@contextlib.contextmanager
def recorded(path: Path, source: Mapping[str, Json]) -> Iterator[Recorded]:
    """The scores in a file, which no other process has open.

    A selection by any rule finds in it what was evaluated before: a score depends on model and
    number alone.

    Args:
      source: what the scores come from, as plain data.

    Raises:
      ConfigError: the file holds scores of another source, or something else.
      RunError: another process works on it.
    """
    with files.open_state(path, "selection", {"evaluator": source}) as file:
        tree = file.read() or {}
        with file.parsing():
            scores = {m: {int(k): float(x) for k, x in of.items()} for m, of in tree.items()}
            if not all(math.isfinite(x) for of in scores.values() for x in of.values()):
                raise DataError("expected finite scores")
        yield Recorded(file, scores)


class Command:
    """Evaluates models by a command, with {model}, {split}, {seed} and {items} in its words.

    Args:
      template, field, limit: as of `commands.Command`.
      order: [blocks, size] items of the k-th evaluations; None: {items} is no place.

    Attributes:
      known: model -> number -> a score that need not be evaluated.

    Raises:
      ConfigError: a place is missing, or {items} has no items.
    """

    def __init__(
        self,
        template: str,
        field: str | None = None,
        limit: float | None = None,
        order: np.ndarray | None = None,
    ):
        if "{model}" not in template:
            raise ConfigError(f"command: expected {{model}} somewhere in {template!r}")
        if (order is None) == ("{items}" in template):
            raise ConfigError(
                f"command: expected {{items}} in it with {argument('items', 'N')}, which says how "
                "many there are, and else not"
            )
        names = ("model", "split", "seed", "items")
        self._command = commands.Command(template, names, field, limit)
        self.stop, self._order = self._command.stop, order
        self.known: Mapping[str, Mapping[int, float]] = {}

    def __call__(self, model: str, number: int) -> float:
        """The score of a model's evaluation with this number, from 1."""
        if number in self.known.get(model, {}):
            return self.known[model][number]
        values = {"model": model, "split": str(number), "seed": str(number)}
        if self._order is not None:
            values["items"] = ",".join(map(str, self._order[number - 1].tolist()))
        return self._command.score(values)
