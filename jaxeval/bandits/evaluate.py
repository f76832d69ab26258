"""Live selections: ask the rule, evaluate side by side, tell the scores, retry failures.

The k-th evaluation of every model has split k and seed k, so a selection that was stopped begins
again and finds the scores that it had.
"""

import contextlib
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.bandits import commands, pool
from jaxeval.bandits.confidence import Confident
from jaxeval.bandits.rules import Answer, Rule, State
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json
from jaxeval.stats.results import Sample, sample

Evaluate = Callable[[str, int], float]  # (model, number of its evaluation, from 1) -> score


class Evaluated(NamedTuple):
    """An evaluation that ended, and the state after it."""

    state: State
    model: str
    number: int
    score: float | None  # None: the evaluation failed
    note: str
    seconds: float = 0.0  # of training


def run(
    rule: Rule,
    models: Sequence[str],
    evaluate: Evaluate,
    *,
    workers: int = 1,
    retries: int = 1,
    name: Callable[[int], str] = "evaluation {}".format,
    known: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
) -> Generator[Evaluated, None, None]:
    """Evaluates models until the rule has its answer; yields every score and failure.

    Args:
      evaluate: its method `stop`, if it has one, is called at the end.
      workers, retries: as of `pool.run`; the rule's `batch_size` should be as large.
      name: of an evaluation by its number, for messages.
      known: model -> number -> score that is not evaluated again.

    Raises:
      RunError: every model was dropped; with the last error of each.
    """
    state = rule.begin(models)

    def ask(free: int) -> list[tuple[str, int]] | None:
        nonlocal state
        state, jobs = _started(rule, state)
        return jobs

    def score_of(model: str, number: int) -> float:
        recorded = known.get(model, {})
        return recorded[number] if number in recorded else evaluate(model, number)

    how: Any = {"workers": workers, "retries": retries}
    how["stop"] = getattr(evaluate, "stop", lambda: None)
    how["dropped"] = lambda job: job[0] in state.excluded
    with contextlib.closing(pool.run(score_of, ask, **how)) as results:
        for (model, number), result, again in results:
            if model in state.excluded:
                continue
            if isinstance(result, float):
                state = state.tell(model, result, number)
                yield Evaluated(state, model, number, result, "")
                continue
            note = "; tried again"
            if not again:
                times = f" {retries + 1} times" * (retries > 0)
                why = f"{name(number)} failed{times}: {result}"
                state = rule.failed(state, model, number, why)
                note = f"; {model} was dropped" if model in state.excluded else ""
            yield Evaluated(state, model, number, None, f"{result}{note}")


def _started(rule: Rule, state: State) -> tuple[State, list[tuple[str, int]] | None]:
    """Marks what the rule asks for as under way, and returns it; None when it has its answer."""
    if rule.answer(state) is not None:
        return state, None
    jobs = []
    for model in rule.ask(state):
        state, number = state.start(model)
        jobs.append((model, number))
    return state, jobs


class Replay:
    """Evaluations that draw each model's recorded scores without replacement.

    `most` says how many scores each model has. DataError if a score is not finite.
    """

    def __init__(self, scores: Mapping[str, Sample], seed: int = 0):
        arrays = {name: sample(values, name) for name, values in scores.items()}
        self.most = {name: len(values) for name, values in arrays.items()}
        self._drawn = {
            name: values[np.random.default_rng([seed, k, 0]).permutation(len(values))]
            for k, (name, values) in enumerate(arrays.items(), 1)
        }

    def __call__(self, model: str, number: int) -> float:
        """Returns the score of a model's evaluation with this number, from 1."""
        return float(self._drawn[model][number - 1])


def select(rule: Rule, replay: Replay) -> tuple[State, Answer]:
    """Runs a rule on recorded scores until it has its answer; DataError if they are too few."""
    confident = isinstance(rule, Confident) and rule.delta is not None
    for name, count in replay.most.items():
        if isinstance(rule, Confident) and count < rule.initial:
            raise DataError(
                f"{name}: {count} recorded scores; expected {rule.initial} or more, since fewer "
                "say too little about its spread"
            )
    state = rule.begin(list(replay.most))
    while models := rule.ask(state):
        times = Counter(models)
        for model, most in replay.most.items():
            if state.begun(model) + times[model] > most:
                if confident:
                    return state, rule.leading(state, spent(model, most))
                said = f"more scores of {model} are asked for than there are; spend less"
                raise DataError(f"budget: {said}")
        for model in models:
            number = state.begun(model) + 1
            state = state.tell(model, replay(model, number), number)
    answer = rule.answer(state)
    assert answer is not None
    return state, answer


def spent(model: str, most: float) -> str:
    """Returns the reason why a replay ends before its rule does."""
    return f"more than the {most:.0f} recorded scores of {model} are asked for"


@dataclasses.dataclass
class Recorded:
    """The scores of a selection on disk."""

    file: files.StateFile | None
    scores: dict[str, dict[int, float]]  # model -> number -> score

    def has(self, model: str, number: int) -> bool:
        """Returns whether this evaluation has a score."""
        return number in self.scores.get(model, {})

    def add(self, model: str, number: int, score: float) -> None:
        """Writes the file, if there is one, with one more score."""
        self.scores.setdefault(model, {})[number] = score
        if self.file is not None:
            self.file.write(
                {name: {str(k): of[k] for k in sorted(of)} for name, of in self.scores.items()}
            )


@contextlib.contextmanager
def recorded(path: Path | None, source: Mapping[str, Json]) -> Iterator[Recorded]:
    """Opens the scores in a file, if any; selections by any rule share those of one source.

    ConfigError if it holds scores of another source, or something else; RunError if another
    process works on it.
    """
    if path is None:
        yield Recorded(None, {})
        return
    with files.open_state(path, "selection", {"evaluator": source}) as file:
        tree = file.read() or {}
        with file.parsing():
            scores = {m: {int(k): float(x) for k, x in of.items()} for m, of in tree.items()}
            if not all(math.isfinite(x) for of in scores.values() for x in of.values()):
                raise DataError("expected finite scores")
        yield Recorded(file, scores)


class Command(commands.Command):
    """Evaluates models by a command with {model}, and maybe {split} and {seed}.

    ConfigError if {model} is missing.
    """

    def __init__(self, template: str, field: str | None = None, limit: float | None = None):
        if "{model}" not in template:
            raise ConfigError(f"command: expected {{model}} somewhere in {template!r}")
        super().__init__(template, ("model", "split", "seed"), field, limit)

    def __call__(self, model: str, number: int) -> float:
        """Returns the score of an evaluation."""
        return self.score({"model": model, "split": str(number), "seed": str(number)})
