"""`jaxeval tune`: the best setting of a search space, in few trainings."""

import functools
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxeval import cli, parameters, parsers
from jaxeval.config import changes as config_changes
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Changes, Count, Natural, NonNegative, Positive, Quiet

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.result import Result
    from jaxeval.report.tuning import Tuned
    from jaxeval.space.space import Space
    from jaxeval.tuning.running import Evaluate
    from jaxeval.tuning.search import End, Search, State

Method = Literal["gp", "sobol", "random"]


@parameters.verb
def tune(
    config: "Source" = None,
    changes: Changes = (),
    *,
    space: "str | Path | Mapping[str, object] | Space",
    data: str | Path | None = None,
    out: str | Path = "runs",
    method: Method = "gp",
    parallel: Count | None = None,
    seeds: str | int = 1,
    halving: Count | None = None,
    min_epochs: Count | None = None,
    enqueue: Sequence[str | Mapping[str, object]] = (),
    seed: Natural = 0,
    trials: Count = 64,
    seconds: Positive | None = None,
    retrain: Natural = 8,
    margin: NonNegative | None = None,
    store: str | None = None,
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Result":
    """Searches a space for the best setting of a config, in few trainings.

    Proposes settings, trains each batch of them as populations, and learns from their dev scores
    which to propose next. Failures are results. In the end the best setting is trained again with
    fresh seeds, which says what its score is worth. Proposals are on disk before they run: the
    same command goes on where it was stopped, and with more --trials where it ended.
    docs/tuning.md says more. A command of any framework is tuned by

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      space: the search space (TOML).
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      method: what proposes: a Gaussian process, Sobol points or random draws.
      parallel: settings at once: a batch that is trained together (8, or one a device).
      seeds: of each setting; adaptive: one, and more where they change which is best.
      halving: successive halving (ASHA): at each rung one of so many trainings goes on, and lanes
        that become free get new settings.
      min_epochs: of halving: its rungs are after R, R HALVING, R HALVING^2 ... epochs (1).
      enqueue: a setting that is evaluated first, as 'NAME=VALUE NAME=VALUE'; may be repeated.
      seed: of the proposals.
      trials: settings in all.
      seconds: of wall time, all calls of this command together; then nothing more is proposed.
      retrain: fresh seeds that the best setting is trained with in the end; 0: not at all.
      margin: a difference that does not matter, in the metric's unit (the metric's).
      store: URL of a database instead of the folder's.
      dry_run: show the first batch, and stop; nothing is written.

    Raises:
      ConfigError, DataError, RunError: of the config, the space, the data, the folder.

    Examples:
      jaxeval tune wiemerslage2024/georgian_attentive_lstm_small --data DIR \\\\
          --space wiemerslage2024/space_attentive_lstm_small --trials 48 --parallel 12
      jaxeval tune CONFIG --space FILE --method random      # the baseline
      jaxeval tune command "./train.sh --rate={rate} --seed={seed}" --space FILE --lower-is-better
    """
    if callable(config):
        raise ConfigError(
            "config: of a function of Python: jaxeval.tune_function(function, space)"
        )
    from jaxeval import backend
    from jaxeval.runs import metrics
    from jaxeval.space import space as spaces

    known, where = spaces.of(space)
    search = _search(known, method, seed, seeds, halving, min_epochs, enqueue, trials)
    backend.prepare()
    from jaxeval import observe
    from jaxeval.tune import target as targets
    from jaxeval.tune import training
    from jaxeval.tuning.search import End

    words, place = parameters.changed_keys(changes), None if data is None else str(data)
    target = targets.target(config, words, place, search, where)
    metrics.refuse_points("margin", margin or 0.0, target.record.unit)
    if dry_run:
        return training.planned(target, search, trials, parallel, retrain)
    least = target.record.margin if margin is None else margin
    end = End(trials, seconds)
    with observe.interruptible():
        return training.tune(
            target, search, end, Path(out), store, parallel, retrain, least, quiet
        )


@parameters.verb
def tune_command(
    command: str,
    *,
    space: "str | Path | Mapping[str, object] | Space",
    method: Method = "gp",
    parallel: Count = 1,
    seeds: str | int = 1,
    halving: Count | None = None,
    steps: Count | None = None,
    enqueue: Sequence[str | Mapping[str, object]] = (),
    seed: Natural = 0,
    trials: Count = 64,
    seconds: Positive | None = None,
    retrain: Natural | None = None,
    margin: NonNegative = 0.0,
    json_field: str | None = None,
    lower_is_better: bool | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 0,
    state: str | Path = "tuning.json",
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Tuned | str":
    """Searches a space for the best setting of any program.

    A command prints its score in its last line. No shell runs it; a word that names an inactive
    hyperparameter is left out. Proposals are in STATE before they run: kill the process at any
    time, and the same command goes on; with more --trials it goes on where it ended.

    Args:
      command: with {values}, all of them as JSON, or each hyperparameter's {name}; and {seed}.
      space: the search space (TOML).
      method, seeds, enqueue, seed, trials, seconds: as of tune.
      parallel: commands at once.
      halving: successive halving (ASHA): at each rung one of so many runs goes on.
      steps: of halving: steps of a whole run, which prints lines {"step": K, "score": X}.
      retrain: fresh seeds that the best setting is run with in the end (8; without {seed} 0).
      margin: a difference that does not matter, in the score's unit.
      json_field: where the score is in the JSON that the command prints, such as dev.f1.
      lower_is_better: which scores are better (as the field's name says, else higher).
      time_limit: seconds that one seed may take.
      retries: of a failed seed.
      state: file of the search, from which the same command goes on.
      dry_run: show the first commands, and stop; nothing is written.

    Raises:
      ConfigError, RunError: of the command, the space or the state.

    Examples:
      jaxeval tune command "./train.sh --rate={rate} --seed={seed}" --space FILE --trials 200
      jaxeval tune command "python train.py {values} {seed}" --space FILE --json-field dev.f1
    """
    from jaxeval.report import direction
    from jaxeval.space import space as spaces
    from jaxeval.tuning import search as searches
    from jaxeval.tuning.history import History
    from jaxeval.tuning.running import Command
    from jaxeval.tuning.search import End

    known = spaces.of(space)[0]
    search = _search(known, method, seed, seeds, halving, None, enqueue, trials)
    _refuse_half(halving, steps)
    runner = Command(command, known, json_field, time_limit)
    if not runner.seeded:
        for name, several in (("seeds", seeds != 1), ("retrain", retrain)):
            if several:
                raise ConfigError(
                    f"{argument(name)}: expected {{seed}} in the command, without which all seeds "
                    "of a setting are the same run"
                )
    if dry_run:
        _, proposed = search.ask(History(), min(-(-parallel // search.seeds), trials))
        lines = [shlex.join(runner.words(e.values, s)) for e in proposed for s in e.seeds]
        return "".join(f"{line}\n" for line in lines)
    asked = None if lower_is_better is None else not lower_is_better
    said = direction.of_command(json_field, asked)
    source = {"command": command, "json_field": json_field, "steps": steps}
    higher, end = said.higher_is_better is not False, End(trials, seconds)
    with cli.resumable(), searches.opened(Path(state), search, higher, source) as opened:
        _say(said.sentence, quiet)
        fresh = (8 if retrain is None else retrain) if runner.seeded else 0
        return _run(
            search,
            opened,
            runner,
            end,
            said.metric,
            margin,
            fresh,
            parallel,
            retries,
            steps,
            quiet,
        )


@parameters.verb
def tune_function(
    function: Callable[..., float],
    space: "str | Path | Mapping[str, object] | Space",
    *,
    method: Method = "gp",
    parallel: Count = 1,
    seeds: str | int = 1,
    halving: Count | None = None,
    steps: Count | None = None,
    enqueue: Sequence[str | Mapping[str, object]] = (),
    seed: Natural = 0,
    trials: Count = 64,
    seconds: Positive | None = None,
    retrain: Natural = 8,
    margin: NonNegative = 0.0,
    lower_is_better: bool = False,
    state: str | Path | None = None,
    quiet: Quiet = False,
) -> "Tuned":
    """Searches a space for the best setting of a function of Python.

        def loss(values, seed, report):  # seed and report only where it has a use for them
            for step in range(1, 10):
                if report(step, so_far): break
            return final

        space = {"rate": {"log_uniform": [1e-4, 1]}}
        tuned = jaxeval.tune_function(loss, space, lower_is_better=True)

    Args:
      function: of a setting (values by name), which gives its score; an exception of it that is
        no EvaluationFailed ends the search.
      space: a file or its tables.
      steps: of halving: how many it reports, by `report(step, score)`.
      state: a file from which the same call goes on; None: nothing is kept.
      method, parallel, seeds, halving, enqueue, seed, trials, seconds, retrain, margin: as of
        tune.

    Raises:
      ConfigError: several seeds, or halving, of a function that does not take what they need.
      RunError: another process works on the state.
    """
    from jaxeval.space import space as spaces
    from jaxeval.tuning import search as searches
    from jaxeval.tuning.running import Function
    from jaxeval.tuning.search import End

    search = _search(spaces.of(space)[0], method, seed, seeds, halving, None, enqueue, trials)
    _refuse_half(halving, steps)
    called = Function(function)
    if (search.seeds > 1 or search.adaptive) and not called.seeded:
        raise ConfigError(f"seeds: {called.name} has no argument seed, so that all are one run")
    if halving is not None and not called.reports:
        raise ConfigError(
            f"halving: {called.name} has no argument report, which it calls with step and score"
        )
    path, fresh = None if state is None else Path(state), retrain if called.seeded else 0
    source = {"function": called.name, "steps": steps}
    with searches.opened(path, search, not lower_is_better, source) as opened:
        return _run(
            search, opened, called, End(trials, seconds), None, margin, fresh, parallel, 0, steps,
            quiet,
        )  # fmt: skip


def _search(
    space: "Space",
    method: Method,
    seed: int,
    seeds: str | int,
    halving: int | None,
    min_epochs: int | None,
    enqueue: Sequence[str | Mapping[str, object]],
    trials: int,
) -> "Search":
    """What is asked for; ConfigError where it does not go together."""
    from jaxeval.tuning.halving import Halving
    from jaxeval.tuning.search import Search, setting

    adaptive = isinstance(seeds, str) and seeds == "adaptive"  # numpy's equality is no bool
    try:
        count = 1 if adaptive else int(seeds)
        if not 1 <= count <= parameters.MOST or isinstance(seeds, bool | float):
            raise ValueError
    except (TypeError, ValueError):
        expected = "a whole number from 1, or adaptive"
        raise ConfigError(f"{argument('seeds')}: expected {expected}, got {seeds!r:.60}") from None
    if trials * count > parameters.MOST:
        expected = f"expected at most {parameters.MOST} runs in all"
        raise ConfigError(f"{argument('trials')}: {expected}")
    if halving is None and min_epochs is not None:
        raise ConfigError(f"{argument('min_epochs')}: goes with {argument('halving')}")
    stops = None if halving is None else Halving(halving, min_epochs or 1)
    each = tuple(setting(space, _assigned(of) if isinstance(of, str) else of) for of in enqueue)
    return Search(space, method, seed, count, adaptive, stops, each)


def _assigned(text: str) -> dict[str, object]:
    """What a text such as 'rate=0.1 kind=cos' sets; values as of a config's changes."""
    tree: dict[str, object] = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"{argument('enqueue')}: expected NAME=VALUE, got {word!r}")
        tree[name] = config_changes.value(value)
    return tree


def _refuse_half(halving: int | None, steps: int | None) -> None:
    if (halving is None) != (steps is None):
        names = f"{argument('halving')}, {argument('steps')}"
        raise ConfigError(f"{names}: expected both or neither")


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)


def _run(
    search: "Search",
    state: "State",
    evaluate: "Evaluate",
    end: "End",
    metric: str | None,
    margin: float,
    retrain: int,
    parallel: int,
    retries: int,
    steps: int | None,
    quiet: bool,
) -> "Tuned":
    """Searches by evaluations in this process or by commands, with progress; then fresh seeds."""
    from jaxeval.report import scores, tuning
    from jaxeval.runs import metrics
    from jaxeval.tuning import running
    from jaxeval.tuning.search import FIRST_FRESH_SEED

    def unit() -> str:
        return metrics.stored_unit(metric, max(map(abs, _scores(state)), default=0.0))

    known, begun = len(state.history.ended), state.seconds
    if known:
        _say(f"goes on from {known} with results", quiet)
    evaluations = running.run(
        search, state, evaluate, end, workers=parallel, retries=retries, steps=steps
    )
    for evaluation, note in evaluations:
        count, last = len(state.history.ended), f"{evaluation.number}: {note}"
        if evaluation.result is not None:
            last = tuning.ended(evaluation, "score", unit())
        each = (state.seconds - begun) / max(1, count - known)
        sofar = tuning.progress(state.history, end.trials, each, "score", unit())
        _say(f"{sofar} | {last}", quiet)
    best, fresh, failures = search.best(state.history), None, list[str]()
    if best is not None and retrain:
        metrics.refuse_points("margin", margin, unit())
        seeds = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + retrain)
        for number, result in running.again(evaluate, state, best, seeds, parallel, retries):
            shown = result if isinstance(result, str) else scores.shown(result, unit())
            _say(f"best setting, fresh seed {number}: {shown}", quiet)
        every = state.fresh_of(best)
        fresh = {"score": [x for k in seeds if isinstance(x := every[k], float)]}
        failures = [x for k in seeds if isinstance(x := every[k], str)]
    return tuning.result(
        search,
        state.history,
        best,
        end.reason(state),
        state.seconds,
        unit=unit(),
        margin=margin,
        fresh=fresh,
        failures=failures,
        seeded=evaluate.seeded,
    )


def _scores(state: "State") -> Iterator[float]:
    for evaluation in state.history.ended:
        yield from evaluation.result.scores if evaluation.result else ()


COMMANDS: parsers.Commands = {"": tune, "command": tune_command}
main = functools.partial(parsers.main, "tune", COMMANDS)

if __name__ == "__main__":
    parsers.start("tune", COMMANDS)
