"""`jaxeval tune`: the best setting of a search space, in few trainings."""

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import cli, launchers, parameters
from jaxeval.config import fields, reading
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Changes, Count, Natural, Positive, Quiet

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.tuning import Tuned
    from jaxeval.space import Space
    from jaxeval.studies.launching import Launcher
    from jaxeval.tune.target import Target
    from jaxeval.tuning import Search
    from jaxeval.tuning.evaluating import Runner

_Method = Literal["gp", "sobol", "random"]
_RETRAINED, _AT_ONCE = 8, 8


@parameters.verb
def tune(
    config: "Source" = None,
    changes: Changes = (),
    *,
    space: "str | Path | Mapping[str, object] | Space",
    data: str | Path | None = None,
    out: str | Path = "runs",
    method: _Method = "gp",
    parallel: Count | None = None,
    seeds: Count = 1,
    halving: Count | None = None,
    min_epochs: Count | None = None,
    enqueue: Sequence[str | Mapping[str, object]] = (),
    seed: Natural = 0,
    trials: Count = 64,
    seconds: Positive | None = None,
    retrain: Natural = _RETRAINED,
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "Tuned":
    """Searches a space for the best setting of a config, in few trainings.

    Trains settings in batches and proposes the next ones from the dev scores so far. In the end it
    trains the best setting again with fresh seeds. The same command continues where it stopped;
    with more --trials it extends the search.

    Args:
      parallel: number of settings to train together (default: 8, or one per device).
      seeds: number of seeds of each setting.
      halving: successive halving (ASHA): at each rung one in N runs continues; with --launch, as a
        new job from its checkpoint.
      min_epochs: with halving, epochs R of the first rung; rungs are at R, R N, R N^2 ...
        (default: 1).
      retrain: number of fresh seeds with which to train the best setting in the end.

    Examples:
      jaxeval tune wiemerslage2024/georgian_attentive_lstm_small --data DIR \\
          --space wiemerslage2024/space_attentive_lstm_small --trials 48 --parallel 12
      jaxeval tune CONFIG --space FILE --method random      # the baseline
    """
    from jaxeval import space as spaces

    known, where = spaces.load(space)
    search = _search(known, method, seed, seeds, halving, min_epochs, enqueue, trials)
    launcher = launchers.prepare(launch)
    import jax

    from jaxeval.tune import target as targets

    target = targets.target(config, [*changes], data, search, where)
    workers = len(jax.devices()) if launcher is None else launcher.workers
    at_once = parallel or max(_AT_ONCE, workers)
    return _train(target, Path(out), (trials, seconds), at_once, retrain, launcher, quiet)


def _train(
    target: "Target",
    folder: Path,
    limits: tuple[int, float | None],
    parallel: int,
    retrain: int,
    launcher: "Launcher | None",
    quiet: bool,
) -> "Tuned":
    """Searches with progress; then trains the best setting with fresh seeds.

    `limits`: trials and seconds, as of `tuning.State`.
    """
    from jaxeval import files, observe, runs, tuning
    from jaxeval.report import text
    from jaxeval.report import tuning as reports
    from jaxeval.studies import launching, prepared
    from jaxeval.tune.populations import Populations

    record, source = target.record, {"experiment": target.record.id}
    path = folder / "tunings" / f"{record.id}.json"
    opening = tuning.opened(path, target.search, record.higher_is_better, source, *limits)
    with opening as state:
        if state.known:
            cli.say(f"{path}: {text.counted(state.known, 'setting')} with results", quiet)
        with runs.open_store(folder) as store:
            fed = Populations(target, state, store, folder, parallel, launcher is not None)
            events = launching.train(fed, store, folder, launcher)
            observe.watch(events, other=lambda line, say: say(str(line)), quiet=quiet)
        best = state.best()
        if best is None:
            return reports.result(state, record.metric, record.unit, None)
        config = target.config(best.values)
        config = dataclasses.replace(config, name=f"{config.name}_tuned")
        toml = path.with_name(f"{path.stem}_best.toml")
        fresh = None
        failures: list[str] = []
        files.write_text(toml, fields.to_toml(config))
        if retrain:
            cli.say(f"\nthe best setting, {text.counted(retrain, 'fresh seed')}", quiet)
            trials = prepared.seeds_by_splits(config, tuning.fresh_seeds(retrain))
            retrained = observe.train(trials, folder, launcher=launcher, quiet=quiet)
            fresh, failures = reports.fresh_scores(retrained)
        return reports.result(state, record.metric, record.unit, fresh, failures, config=str(toml))


@parameters.verb
def tune_command(
    command: "str | Callable[..., float]",
    *,
    space: "str | Path | Mapping[str, object] | Space",
    method: _Method = "gp",
    parallel: Count = 1,
    seeds: Count = 1,
    halving: Count | None = None,
    steps: Count | None = None,
    enqueue: Sequence[str | Mapping[str, object]] = (),
    seed: Natural = 0,
    trials: Count = 64,
    seconds: Positive | None = None,
    retrain: Natural | None = None,
    json_field: str | None = None,
    lower_is_better: bool | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 0,
    state: str | Path | None = "tuning.json",
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Tuned | str":
    """Searches a space for the best setting of any program, or of a Python function.

    The command must print its score as its last line. It runs without a shell; a word that names
    an inactive hyperparameter is left out. You may kill the search at any time: the same command
    continues.

    Args:
      command: the command, with {values} (all values as JSON) or the {name} of each
        hyperparameter, and optionally {seed}. In Python also a function, which gets the values as
        a dict, and seed and report if it has such arguments. Exceptions other than
        EvaluationFailed end the search.
      parallel: number of commands to run at once.
      seeds: number of seeds of each setting.
      halving: successive halving (ASHA): at each rung one in N runs continues.
      steps: with halving, number of steps of a whole run. A run must also print lines {"step": K,
        "score": X}; a function calls report(step, score) and ends if that returns true.
      retrain: number of fresh seeds with which to run the best setting in the end (default: 8;
        without {seed} 0).
      lower_is_better: lower scores are better (default: by the field's name, else higher).
      retries: number of retries of a failed seed.
      state: file that keeps the search; the same command continues from it. None keeps nothing.

    Examples:
      jaxeval tune command "./train.sh --rate={rate} --seed={seed}" --space FILE --trials 200
      jaxeval tune command "python train.py {values} {seed}" --space FILE --json-field dev.f1
    """
    from jaxeval import space as spaces
    from jaxeval import tuning
    from jaxeval.report import text
    from jaxeval.tuning import evaluating
    from jaxeval.tuning.history import History

    known = spaces.load(space)[0]
    search = _search(known, method, seed, seeds, halving, None, enqueue, trials)
    evaluate = evaluating.Evaluator(command, known, json_field, time_limit)
    kind = "function" if evaluate.command is None else "command"
    if (halving is None) != (steps is None):
        raise ConfigError(f"{argument('halving')}, {argument('steps')}: expected both or neither")
    needed = {"seed": seeds > 1 or bool(retrain), "report": halving is not None}
    taken = {"seed": evaluate.seeded, "report": evaluate.reports}
    if lacking := [name for name, needs in needed.items() if needs and not taken[name]]:
        place = "{seed}" if kind == "command" else f"an argument {lacking[0]}"
        raise ConfigError(f"{evaluate.name}: expected {place}")
    if dry_run and evaluate.command is not None:
        _, proposed = search.ask(History(), min(-(-parallel // seeds), trials))
        lines = [shlex.join(evaluate.words(e.values, s)) for e in proposed for s in e.seeds]
        return "".join(f"{line}\n" for line in lines)
    metric, higher, direction = text.direction_of_field(json_field, lower_is_better)
    if evaluate.command is not None:
        evaluate.command.assumed = direction if higher is None else ""
    source = {kind: evaluate.name, "json_field": json_field, "steps": steps}
    path = None if state is None else Path(state)
    opening = tuning.opened(path, search, higher, source, trials, seconds)
    with cli.resumable(), opening as opened:
        cli.say(direction, quiet)
        runner = evaluating.Runner(opened, evaluate, parallel, retries, steps)
        fresh = (_RETRAINED if retrain is None else retrain) if evaluate.seeded else 0
        return _run(runner, metric, fresh, quiet)


def _run(runner: "Runner", metric: str | None, retrain: int, quiet: bool) -> "Tuned":
    """Searches with progress; then runs the best setting with fresh seeds."""
    from jaxeval import tuning
    from jaxeval.report import tuning as reports
    from jaxeval.runs import metrics

    state = runner.state

    def unit() -> str:
        scores = [score for e in state.history.evaluations for score in e.scores]
        return metrics.stored_unit(metric, max(map(abs, scores), default=0.0))

    if state.known:
        cli.say(f"continues from {state.known} with results", quiet)
    with contextlib.closing(runner.run()) as steps:
        for evaluation, note in steps:
            ended = evaluation.ended
            last = reports.evaluation_line(evaluation, "score", unit()) if ended else note
            cli.say(f"{reports.progress_line(state, 'score', unit())} | {last}", quiet)
    best = state.best()
    fresh = None
    failures: list[str] = []
    if best is not None and retrain:
        for number, result in runner.again(best, retrain):
            cli.say(f"best setting, fresh seed {number}: {result}", quiet)
        every = [state.fresh_scores(best)[seed] for seed in tuning.fresh_seeds(retrain)]
        fresh = {"score": [result for result in every if isinstance(result, float)]}
        failures = [result for result in every if isinstance(result, str)]
    seeded = runner.evaluate.seeded or fresh is not None
    return reports.result(state, "score", unit(), fresh, failures, seeded)


def _search(
    space: "Space",
    method: _Method,
    seed: int,
    seeds: int,
    halving: int | None,
    min_epochs: int | None,
    enqueue: Sequence[str | Mapping[str, object]],
    trials: int,
) -> "Search":
    """The search that the arguments describe; ConfigError where they do not go together."""
    from jaxeval.tuning import Search
    from jaxeval.tuning.history import Halving

    if trials * seeds > parameters.MOST:
        expected = f"expected at most {parameters.MOST} runs in all"
        raise ConfigError(f"{argument('trials')}: {expected}")
    if halving is None and min_epochs is not None:
        raise ConfigError(f"{argument('min_epochs')}: needs {argument('halving')}")
    stops = None if halving is None else Halving(halving, min_epochs or 1)
    first: list[Any] = []
    for each in enqueue:  # a text such as 'rate=0.1 kind=cos', in the form of a config's changes
        first.append({} if isinstance(each, str) else each)
        for word in shlex.split(each) if isinstance(each, str) else ():
            name, equals, value = word.partition("=")
            if not equals:
                raise ConfigError(f"{argument('enqueue')}: expected NAME=VALUE, got {word!r}")
            first[-1][name] = reading.value(value)
    return Search(space, method, seed, seeds, stops, first)
