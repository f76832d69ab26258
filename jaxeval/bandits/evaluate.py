"""Runs a selection: asks the rule, evaluates side by side, tells; failures are tried again.

An evaluation is a function of (model, number) -> score. The k-th evaluation of every model shares
split k and seed k, so that a selection which is stopped and resumed, or whose results arrive late,
evaluates the same things.
"""

from collections import Counter
from collections.abc import Callable, Generator
from typing import NamedTuple

from jaxeval.bandits import replay
from jaxeval.bandits import state as states
from jaxeval.bandits import workers as side_by_side
from jaxeval.bandits.blocks import Blocks
from jaxeval.bandits.fixed_budget import SequentialHalving
from jaxeval.bandits.fixed_confidence import NonAdaptive
from jaxeval.bandits.rules import Answer, Rule
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError, argument

Evaluate = Callable[[str, int], float]
Job = tuple[str, int]  # model, number of the evaluation
ANSWERED = "all items are answered"  # by all models


class Told(NamedTuple):
    """What happened last, and the state after it."""

    state: State
    model: str
    number: int
    score: float | None  # None: the evaluation failed
    note: str


def run(
    rule: Rule,
    state: State,
    evaluate: Evaluate,
    *,
    workers: int = 1,
    retries: int = 1,
    most: int | None = None,
) -> Generator[Told, None, None]:
    """Goes on with a selection until the rule has its answer.

    Args:
      rule: decides what is evaluated next.
      state: of `rule.begin`, or of an earlier selection; what was pending then is done again.
      evaluate: (model, number) -> score, as of `workers.desk`.
      workers: evaluations at once; the rule's `batch_size` should be as large.
      retries: times that a failed evaluation is tried again; then its model is dropped.
      most: evaluations that there are of each model; None: any number. Where the rule asks for
        more, what is under way ends, and no more is asked for: `answer` says what is known then.

    Yields:
      Told after every score and every failure. The state can be saved there.

    Raises:
      RunError: every model was dropped; with the last error of each.
    """
    if workers < 1 or retries < 0:
        raise DataError(f"workers, retries: expected at least 1 and 0, found {workers}, {retries}")
    state = states.forget_pending(state)
    failures: dict[Job, int] = {}
    desk: side_by_side.Desk[Job]
    with side_by_side.desk(evaluate, workers) as desk:
        while rule.answer(state) is None:
            if _beyond(rule, state, most) is None:
                for model in rule.ask(state):
                    state, number = states.start(state, model)
                    desk.waiting.append((model, number))
            elif not desk.busy:
                return
            for job, result in desk.next_results():
                if job[0] not in state.excluded:
                    told = _told(rule, state, job, result, failures, retries, desk)
                    state = told.state
                    yield told


def _told(
    rule: Rule,
    state: State,
    job: Job,
    result: float | side_by_side.EvaluationFailed,
    failures: dict[Job, int],
    retries: int,
    desk: side_by_side.Desk[Job],
) -> Told:
    """What comes of a result: a score is told, a failure tried again, or its model dropped."""
    if isinstance(result, float):
        return Told(rule.tell(state, job[0], result, job[1]), *job, result, "")
    failures[job] = failures.get(job, 0) + 1
    if failures[job] <= retries:
        desk.waiting.appendleft(job)
        return Told(state, *job, None, f"{result}; tried again")
    reason = f"evaluation {job[1]} failed {failures[job]} times: {result}"
    desk.drop(job[0])
    note = f"{result}; {job[0]} was dropped"
    return Told(states.exclude(state, job[0], reason), *job, None, note)


def answer(rule: Rule, state: State, most: int | None = None) -> Answer:
    """How a selection that `run` has ended came out."""
    decided = rule.answer(state)
    if decided is not None:
        return decided
    if isinstance(rule, NonAdaptive) and rule.delta is None:  # all have answered all
        return rule.leading(state, ANSWERED)
    model = _beyond(rule, state, most)
    assert model is not None
    asked = (len(state.scores_of(state.models[k])) for k in state.alive)
    reason = ANSWERED if min(asked) == most else f"{model} has answered all items"
    return replay.cut_short(rule, state, model, reason)


def refuse_beyond(rule: Rule, models: int, most: int) -> None:
    """Refuses a fixed budget that asks a model for more than there is, before it is spent.

    Args:
      most: evaluations that there are of each model.

    Raises:
      ConfigError: sequential halving whose last model would be asked for more.
    """
    if isinstance(rule, SequentialHalving) and rule.of_one(models) > most:
        raise ConfigError(
            f"{argument('budget', rule.budget)}: of the last of {models} models it asks for "
            f"{rule.of_one(models)} evaluations, and there are {most}; spend less"
        )


def _beyond(rule: Rule, state: State, most: int | None) -> str | None:
    """A model of which the rule asks for more evaluations than there are."""
    for model, times in Counter(rule.ask(state)).items():
        arm = state.index_of(model)
        begun = len(state.scores[arm]) + len(state.pending[arm])
        if replay.is_spent(begun + times, most):
            return model
    return None


class Recorded:
    """Evaluates only what has no score yet.

    Args:
      known: (model, number) -> the score, None where there is none.
      evaluate: gives the others.
    """

    def __init__(self, known: Callable[[str, int], float | None], evaluate: "Command"):
        self._known, self._evaluate = known, evaluate

    def __call__(self, model: str, number: int) -> float:
        score = self._known(model, number)
        return self._evaluate(model, number) if score is None else score

    def stop(self) -> None:
        """Ends what is running."""
        self._evaluate.stop()


class Command:
    """Evaluates by a command: any program of any framework can be an arm.

    The template is split into words as a shell would, but no shell runs it; then {model}, {split}
    and {seed} are put into each word, so a name with spaces or quotes stays one argument. The
    score is the last line of the output, or a field of the JSON that the output is.

    Args:
      template: such as "train.sh {model} {split} {seed}".
      field, limit: as of `workers.Processes`.
      blocks: of items: {items} are the numbers of those of an evaluation, parted by commas.
    """

    def __init__(
        self,
        template: str,
        field: str | None = None,
        limit: float | None = None,
        blocks: Blocks | None = None,
    ):
        if "{model}" not in template:
            raise ConfigError(f"command: expected {{model}} somewhere in {template!r}")
        if (blocks is None) == ("{items}" in template):
            raise ConfigError(
                "command: expected {items} with --race and --block, which say how many items "
                "there are and how many an evaluation has"
            )
        self._order = None if blocks is None else blocks.order()
        self._words = side_by_side.words(template)
        self._processes = side_by_side.Processes(field, limit)

    def __call__(self, model: str, number: int) -> float:
        return self._processes.score([self._filled(word, model, number) for word in self._words])

    def stop(self) -> None:
        """Ends all commands that are running."""
        self._processes.stop()

    def _filled(self, word: str, model: str, number: int) -> str:
        if self._order is not None:
            word = word.replace("{items}", ",".join(map(str, self._order[number - 1].tolist())))
        for name, value in (("{split}", number), ("{seed}", number), ("{model}", model)):
            word = word.replace(name, str(value))
        return word
