"""`python -m jaxeval.select`: the best of several models with as few evaluations as possible."""

import argparse
import contextlib
import dataclasses
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli, outputs
from jaxeval.errors import RunError
from jaxeval.runs import arguments
from jaxeval.select import options

if TYPE_CHECKING:
    from jaxeval.bandits import Answer, Replay, Rule, Simulation
    from jaxeval.bandits.evaluate import Recorded
    from jaxeval.bandits.saved import Saved
    from jaxeval.bandits.state import State

_DESCRIPTION = """\
Finds the best of several models with few evaluations: a bandit decides which model is evaluated
next (another split, another seed), and stops when one is the best with probability 1 - delta, or
when the budget is spent. The models are configs, which are trained in this process, or commands to
run, or scores recorded in a table.
"""
_EPILOG = """\
rules:
  top-two             leader or challenger (TTTS); with --batch each slot of a batch  [default]
  batch               each slot of a batch by the probability of being best (BTS)
  non-adaptive        every model once a round; the baseline
  sequential-halving  spends --budget; halves the field in every round

examples:
  python -m jaxeval.select A.toml B.toml C.toml --data DIR --delta .05     # trains, side by side
  python -m jaxeval.select A.toml B.toml --data DIR --rule batch --batch 4 --budget 40
  python -m jaxeval.select lstm rhn nas --command "./train.sh {model} {split} {seed}" --workers 4
  python -m jaxeval.select a b --json-field test.median --command \\
      "python -m jaxeval.train {model}.toml --split-list {split} --seed-list {seed} --json -"
  python -m jaxeval.select A B C --command "./ask.sh {model} {items}" --race 1200 --block 20
  python -m jaxeval.select --table scores.json --delta 0.1
  python -m jaxeval.select --table scores.json --simulate 500 --rule batch --batch 4

The k-th evaluation of every model gets split k and seed k. A command prints its score in the last
line (or in --json-field of the JSON it prints). It is not run by a shell. After every result the
selection is written to --state; the same command continues it. docs/select.md says more.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("select", _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="configs (with key=value changes of all), or names; absent: all of the table",
    )
    options.add_rule(parser.add_argument_group("the rule"))
    options.add_configs(
        parser.add_argument_group("models that are configs, trained in this process")
    )
    options.add_command(parser.add_argument_group("models that are evaluated by a command"))
    arguments.add_table(parser)
    replay = parser.add_argument_group("models whose scores are recorded in a table")
    replay.add_argument(
        "--replay",
        choices=("without", "with"),
        default="without",
        help="replacement; with: more draws than there are scores, which is no new evidence "
        "(without)",
    )
    replay.add_argument(
        "--pairing",
        choices=("broken", "kept"),
        default="broken",
        help="kept: the k-th evaluations of all models use one recorded split (broken)",
    )
    replay.add_argument(
        "--simulate", type=arguments.whole, metavar="R", help="run it R times; say how it fared"
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="of a selection that trains or runs commands (RUNS/selections/..., selection.json)",
    )
    parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
    cli.add_details(parser)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Parses, selects or simulates, prints."""
    verb = parser()
    args = arguments.parse(verb, words)
    options.refuse_of_others(verb, args)
    reads = [*args.models, args.data, args.table, args.state]
    outputs.refuse_unwritable(args.json, reads=reads, runs=[args.out, args.store, args.runs])
    if args.command is not None:
        return _by_command(args)
    return _by_table(args) if args.table or args.runs else _by_configs(args)


def _by_configs(args: argparse.Namespace) -> int:
    from jaxeval import backend

    backend.prepare()
    from jaxeval.select import training

    return training.run(args)


def _by_table(args: argparse.Namespace) -> int:
    from jaxeval import bandits
    from jaxeval.bandits import replay as replaying
    from jaxeval.report import text
    from jaxeval.report.comparison import failures as lost
    from jaxeval.report.plain import plain
    from jaxeval.report.selection import as_json, terminal
    from jaxeval.stats import failures, samples

    runs = arguments.scores(args, args.models)
    scores = samples.pools(runs, together=args.pairing == "kept")
    rule = options.rule(args, runs.higher_is_better)
    options.refuse_points(rule, runs.stored_unit)
    for name, values in scores.items():
        rule.check(name, values)
    replay = bandits.Replay(scores, args.replay == "with", args.pairing, args.seed)
    read: Any = {"metric": runs.metric or None, "direction_assumed": runs.direction == "assumed"}
    used = sum(map(len, scores.values()))
    notes = list(runs.warnings)
    failed = failures.of_runs(runs)
    if runs.unusable and failed is None:
        notes.append(text.unusable(runs.unusable, runs.missing))
    if used < runs.known.size:
        notes.append(f"{used} of {runs.known.size} scores belong to units that all models have")
    if args.simulate:
        simulated = as_json.simulation(rule, _simulated(rule, replay, args.simulate), replay)
        simulated.update(read)
        tree: Mapping[str, object] = simulated
        show = functools.partial(terminal.print_simulation, simulated, notes, args.details)
    else:
        state, answer = replaying.select(rule, replay)
        tree = result = as_json.result(rule, state, answer, replay)
        result.update({**read, "unit": runs.stored_unit})
        result["failures"] = [] if failed is None else plain(failed.tests)
        result["failed"] = lost.of_runs(failed, runs)
        show = functools.partial(terminal.print_result, result, notes, args.details)
    origin = {"source": runs.source, "unusable": plain(runs.unusable), "warnings": notes}
    return options.write({**tree, **origin}, show, args)


def _simulated(rule: "Rule", replay: "Replay", repetitions: int) -> "Simulation":
    from jaxeval import bandits

    return bandits.simulate(
        rule,
        replay.scores,
        repetitions=repetitions,
        replacement=replay.replacement,
        pairing=replay.pairing,
        seed=replay.seed,
    )


def _by_command(args: argparse.Namespace) -> int:
    from jaxeval.bandits import evaluate, saved
    from jaxeval.report import direction
    from jaxeval.report.selection import as_json, terminal

    said = direction.of_command(args.json_field, args.higher_is_better)
    rule = options.rule(args, said.higher_is_better is not False, args.workers)
    raced = options.blocks(args)
    most = None if raced is None else raced.count
    if most is not None:
        evaluate.refuse_beyond(rule, len(args.models), most)
    command = evaluate.Command(args.command, args.json_field, args.time_limit, raced)
    path = Path("selection.json" if args.state is None else args.state)
    outputs.refuse_replaced([args.json], [path])
    source = {"command": args.command, "json_field": args.json_field}
    if raced is not None:
        source["race"] = dataclasses.asdict(raced)
    with cli.resumable(), saved.opened(path, rule, args.models, source) as selected:
        print(said.sentence, file=sys.stderr)
        if selected.known:
            print(f"{path}: {selected.known} evaluations are known", file=sys.stderr)
        scored = evaluate.Recorded(selected.score, command)
        answer = _evaluated(rule, selected, scored, args, most, said.metric)
        state = selected.state
    result = as_json.result(rule, state, answer)
    result["direction_assumed"] = said.higher_is_better is None
    if said.metric is not None:
        result["metric"] = said.metric
    if raced is not None:
        result["race"] = as_json.race(raced, state)
    return options.write(result, lambda: terminal.print_result(result, details=args.details), args)


def _evaluated(
    rule: "Rule",
    selected: "Saved",
    scored: "Recorded",
    args: argparse.Namespace,
    most: int | None,
    metric: str | None,
) -> "Answer":
    """The answer to which commands were evaluated, with progress; every state is saved.

    Args:
      most: evaluations that there are of each model; None: any number.
      metric: of the scores, where a name is known.
    """
    from jaxeval.bandits import evaluate
    from jaxeval.report.selection import terminal

    _refuse_points(rule, selected.state, metric)
    steps = evaluate.run(
        rule, selected.state, scored, workers=args.workers, retries=args.retries, most=most
    )
    try:
        with contextlib.closing(steps):
            for event in steps:
                selected.save(event.state)
                print(terminal.progress(rule, event), file=sys.stderr, flush=True)
                _refuse_points(rule, event.state, metric)
        return evaluate.answer(rule, selected.state, most)
    except RunError as error:
        if selected.state.alive:
            raise
        what = f"mend the command and delete {selected.path} to try again"
        raise RunError(f"{error}; {what}") from None


def _refuse_points(rule: "Rule", state: "State", metric: str | None) -> None:
    """Refuses an epsilon in points, as soon as there is a score: fractions then show."""
    from jaxeval.runs import metrics

    scores = (score for of_model in state.scores for score in of_model.values())
    if largest := max(map(abs, scores), default=0.0):  # 0 has no unit
        options.refuse_points(rule, metrics.stored_unit(metric, largest))


if __name__ == "__main__":
    cli.run(main)
