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
from typing import NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.bandits import commands
from jaxeval.bandits.confidence import Confident, NonAdaptive
from jaxeval.bandits.rules import Answer, Rule, State
from jaxeval.bandits.workers import Workers
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json
from jaxeval.stats.results import Sample, sample

Evaluate = Callable[[str, int], float]  # (model, number of its evaluation, from 1) -> score
BLOCK = 20  # items of an evaluation
_ANSWERED = "all items are answered"


class Evaluated(NamedTuple):
    """An evaluation that ended, and the state after it."""

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
    name: Callable[[int], str] = "evaluation {}".format,
) -> Generator[Evaluated, None, None]:
    """Evaluates models until the rule has its answer; yields every score and failure.

    Args:
      evaluate: its method `stop`, if it has one, is called at the end.
      workers: evaluations at once; the rule's `batch_size` should be as large.
      retries: how often a failed evaluation is tried again before its model is dropped.
      most: evaluations that each model can have. If the rule asks for more, the selection ends
        after those under way, and `answer` gives the outcome.
      name: of an evaluation by its number, for messages.

    Raises:
      RunError: every model was dropped; with the last error of each.
    """
    state = rule.begin(models)
    stop = getattr(evaluate, "stop", lambda: None)
    with Workers[tuple[str, int]](evaluate, workers, retries, stop) as team:
        while rule.answer(state) is None:
            asked = rule.ask(state)
            if most is None or _beyond(state, asked, dict.fromkeys(models, most)) is None:
                for model in asked:
                    state, number = state.start(model)
                    team.waiting.append((model, number))
            elif not team.busy:
                return
            for (model, number), result in team.next_results():
                if model in state.excluded:
                    continue
                if isinstance(result, float):
                    state, score, note = state.tell(model, result, number), result, ""
                elif team.try_again((model, number)):
                    score, note = None, f"{result}; tried again"
                else:
                    why = f"{name(number)} failed {retries + 1} times: {result}"
                    state, score, note = rule.failed(state, model, number, why), None, str(result)
                    if model in state.excluded:
                        team.drop(model)
                        note += f"; {model} was dropped"
                yield Evaluated(state, model, number, score, note)


def answer(rule: Rule, state: State, most: int | None = None) -> Answer:
    """Returns the answer of a selection that `run` has ended; `most` as there."""
    decided = rule.answer(state)
    if decided is not None:
        return decided
    assert most is not None
    if isinstance(rule, NonAdaptive) and rule.delta is None:  # all have answered all
        return rule.leading(state, _ANSWERED)
    model = _beyond(state, rule.ask(state), dict.fromkeys(state.models, most))
    assert model is not None
    every = min(len(state.scores[model]) for model in state.alive) == most
    return _cut_short(
        rule, state, model, _ANSWERED if every else f"{model} has answered all items"
    )


def _beyond(state: State, asked: Sequence[str], most: Mapping[str, int]) -> str | None:
    """Returns the first model that is asked for more evaluations than there are."""
    times = Counter(asked)
    over = (model for model in state.models if state.begun(model) + times[model] > most[model])
    return next(over, None)


def _cut_short(rule: Rule, state: State, model: str, reason: str) -> Answer:
    """Returns the answer when a model has too few evaluations; DataError for a fixed budget."""
    if isinstance(rule, Confident) and rule.delta is not None:
        return rule.leading(state, reason)
    raise DataError(f"budget: more scores of {model} are asked for than there are; spend less")


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
    for name, count in replay.most.items():
        if isinstance(rule, Confident) and count < rule.initial:
            raise DataError(
                f"{name}: {count} recorded scores; expected {rule.initial} or more, since fewer "
                "say too little about its spread"
            )
    state = rule.begin(list(replay.most))
    while models := rule.ask(state):
        if model := _beyond(state, models, replay.most):
            return state, _cut_short(rule, state, model, spent(model, replay.most[model]))
        for model in models:
            number = state.begun(model) + 1
            state = state.tell(model, replay(model, number), number)
    answer = rule.answer(state)
    assert answer is not None
    return state, answer


def spent(model: str, most: float) -> str:
    """Returns the reason why a replay ends before its rule does."""
    return f"more than the {most:.0f} recorded scores of {model} are asked for"


def blocks(items: int, seed: int = 0, size: int = BLOCK) -> np.ndarray:
    """Returns item numbers [blocks, size] in random order, without the last incomplete block."""
    if items < 3 * size:
        expected = f"expected three blocks of {size} items or more"
        raise ConfigError(f"{argument('items', items)}: {expected}")
    order = np.random.default_rng(seed).permutation(items)
    return order[: items // size * size].reshape(-1, size)


@dataclasses.dataclass
class Recorded:
    """The scores of a selection on disk."""

    file: files.StateFile
    scores: dict[str, dict[int, float]]  # model -> number -> score

    def has(self, model: str, number: int) -> bool:
        """Returns whether this evaluation has a score."""
        return number in self.scores.get(model, {})

    def add(self, model: str, number: int, score: float) -> None:
        """Writes the file with one more score."""
        self.scores.setdefault(model, {})[number] = score
        self.file.write(
            {name: {str(k): of[k] for k in sorted(of)} for name, of in self.scores.items()}
        )


@contextlib.contextmanager
def recorded(path: Path, source: Mapping[str, Json]) -> Iterator[Recorded]:
    """Opens the scores in a file; selections by any rule share the scores of one source.

    ConfigError if it holds scores of another source, or something else; RunError if another
    process works on it.
    """
    with files.open_state(path, "selection", {"evaluator": source}) as file:
        tree = file.read() or {}
        with file.parsing():
            scores = {m: {int(k): float(x) for k, x in of.items()} for m, of in tree.items()}
            if not all(math.isfinite(x) for of in scores.values() for x in of.values()):
                raise DataError("expected finite scores")
        yield Recorded(file, scores)


class Command(commands.Command):
    """Evaluates models by a command with {model}, and maybe {split}, {seed} and {items}.

    `order` [blocks, size] has the items of the k-th evaluations. ConfigError if a place is
    missing, or {items} has no items.
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
        super().__init__(template, ("model", "split", "seed", "items"), field, limit)
        self._order = order
        self.known: Mapping[str, Mapping[int, float]] = {}  # scores that are not evaluated again

    def __call__(self, model: str, number: int) -> float:
        """Returns the score of an evaluation."""
        if number in self.known.get(model, {}):
            return self.known[model][number]
        values = {"model": model, "split": str(number), "seed": str(number)}
        if self._order is not None:
            values["items"] = ",".join(map(str, self._order[number - 1].tolist()))
        return self.score(values)
