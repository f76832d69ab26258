"""`python -m jaxeval.select`: the best of several models with as few evaluations as possible."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli
from jaxeval.errors import ConfigError, RunError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.bandits import Replay, Rule, Simulation

_DESCRIPTION = """\
Finds the best of several models with few evaluations: a bandit decides which model is evaluated
next (another split, another seed), and stops when one is the best with probability 1 - delta, or
when the budget is spent. The models are commands to run, or scores recorded in a table.
"""
_EPILOG = """\
rules:
  top-two             leader or challenger (TTTS); with --batch each slot of a batch  [default]
  batch               each slot of a batch by the probability of being best (BTS)
  non-adaptive        every model once a round; the baseline
  sequential-halving  spends --budget; halves the field in every round

examples:
  python -m jaxeval.select lstm rhn nas --command "./train.sh {model} {split} {seed}" --workers 4
  python -m jaxeval.select a b --json-field test.median --command \\
      "python -m jaxeval.train {model}.toml --seed-list {seed} --json -"
  python -m jaxeval.select --table scores.json --delta 0.1
  python -m jaxeval.select --table scores.json --simulate 500 --rule batch --batch 4

The k-th evaluation of every model gets split k and seed k. A command prints its score in the last
line (or in --json-field of the JSON it prints). It is not run by a shell. After every result the
selection is written to --state; the same command continues it. docs/select.md says more.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("select", _DESCRIPTION, _EPILOG)
    made.add_argument("models", nargs="*", metavar="MODEL", help="names; absent: all of the table")
    _add_rule(made.add_argument_group("the rule"))
    _add_command(made.add_argument_group("models that are evaluated by a command"))
    arguments.add_table(made)
    replay = made.add_argument_group("models whose scores are recorded in a table")
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
    made.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
    return made


def _add_rule(group: argparse._ArgumentGroup) -> None:
    rules = ("top-two", "batch", "non-adaptive", "sequential-halving")
    group.add_argument("--rule", choices=rules, default="top-two")
    group.add_argument(
        "--delta",
        type=arguments.probability,
        help="stop at probability 1 - delta (.05; for non-adaptive none where --budget is given)",
    )
    group.add_argument(
        "--budget",
        type=arguments.whole,
        metavar="N",
        help="most evaluations (--replay with: 20 times as many as there are scores)",
    )
    group.add_argument(
        "--batch", type=arguments.whole, metavar="B", help="evaluations at once (as --workers)"
    )
    group.add_argument(
        "--epsilon",
        type=arguments.positive,
        default=0.0,
        help="models this near to the best are as good, so that equal ones end (0)",
    )
    group.add_argument(
        "--min-evaluations", type=arguments.whole, metavar="N", help="of each model first (3)"
    )
    group.add_argument(
        "--alpha", type=float, default=-0.5, help="of the prior (sigma^2)^(-1 - alpha) (-.5)"
    )
    group.add_argument(
        "--logit", action="store_true", help="take log(x / (1 - x)) of scores first"
    )
    group.add_argument("--seed", type=arguments.count, default=0, help="of the rule's draws (0)")


def _add_command(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--command", metavar="TEXT", help="with {model}, {split}, {seed}")
    group.add_argument("--json-field", metavar="PATH", help="where the score is, e.g. test.f1")
    group.add_argument(
        "--time-limit", type=arguments.positive, metavar="S", help="seconds an evaluation may take"
    )
    group.add_argument(
        "--retries", type=arguments.count, default=1, help="of a failed evaluation (1)"
    )
    group.add_argument("--workers", type=arguments.whole, default=1, help="commands at once (1)")
    group.add_argument(
        "--state", default="selection.json", metavar="FILE", help="(selection.json)"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Parses, selects or simulates, prints."""
    given = arguments.parse(parser(), words)
    sources = [given.command, given.table, given.runs]
    if sum(source is not None for source in sources) != 1:
        raise ConfigError("expected one of --command TEXT, --table FILE and --runs DIR")
    if given.command is not None:
        return _by_command(given)
    return _by_table(given)


def _rule(given: argparse.Namespace, higher_is_better: bool) -> "Rule":
    from jaxeval import bandits
    from jaxeval.bandits import posterior

    common: dict[str, Any] = {
        "higher_is_better": higher_is_better,
        "logit": given.logit,
        "seed": given.seed,
    }
    if given.rule == "sequential-halving":
        if given.budget is None:
            raise ConfigError("--rule sequential-halving: expected --budget N")
        unused = ("delta", "batch", "epsilon", "min_evaluations")
        if any(getattr(given, name) for name in unused) or given.alpha != posterior.FIESTA_ALPHA:
            raise ConfigError(
                "--rule sequential-halving: takes --budget, but no --delta, --batch, --epsilon, "
                "--min-evaluations or --alpha"
            )
        return bandits.SequentialHalving(budget=given.budget, **common)
    common |= {
        "delta": 0.05 if given.delta is None else given.delta,
        "budget": given.budget,
        "epsilon": given.epsilon,
        "alpha": given.alpha,
        "min_evaluations": given.min_evaluations,
    }
    if given.rule == "non-adaptive":
        if given.delta is None and given.budget is not None:
            common["delta"] = None
        return bandits.NonAdaptive(**common)
    size = given.batch or (given.workers if given.command else None)
    batch = {} if size is None else {"batch_size": size}
    if given.rule == "batch":
        return bandits.BatchThompson(**batch, **common)
    return bandits.TopTwoThompson(**batch, **common)


def _by_table(given: argparse.Namespace) -> int:
    from jaxeval import bandits
    from jaxeval.bandits import replay as replaying
    from jaxeval.report import text
    from jaxeval.report.plain import plain
    from jaxeval.report.selection import as_json, terminal
    from jaxeval.runs import units

    table = arguments.table(given, given.models)
    scores = units.pools(table, together=given.pairing == "kept")
    rule = _rule(given, table.higher_is_better)
    for name, values in scores.items():
        rule.check(name, values)
    replay = bandits.Replay(scores, given.replay == "with", given.pairing, given.seed)
    if given.simulate:
        tree = as_json.simulation(rule, _simulated(rule, replay, given.simulate), replay)
        show = terminal.print_simulation
    else:
        state, answer = replaying.select(rule, replay)
        tree, show = as_json.result(rule, state, answer, replay), terminal.print_result
    used = sum(map(len, scores.values()))
    notes = list(table.warnings)
    if table.unusable:
        notes.append(text.unusable(table.unusable, table.missing))
    if used < len(table.score):
        notes.append(f"{used} of {len(table.score)} scores belong to units that all models have")
    told = {"source": table.source, "unusable": plain(table.unusable), "warnings": notes}
    return _out(tree | told, show, given)


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


def _by_command(given: argparse.Namespace) -> int:
    from jaxeval.bandits import evaluate, saved
    from jaxeval.report.selection import as_json, terminal

    if given.simulate:
        raise ConfigError("--simulate: expected --table FILE, recorded scores")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the commands end with us
    rule = _rule(given, not given.lower_is_better)
    command = evaluate.Command(given.command, given.json_field, given.time_limit)
    path = Path(given.state)
    source = {"command": given.command, "json_field": given.json_field}
    with saved.opened(path, rule, given.models, source) as selected:
        if selected.state.evaluations:
            print(f"{path}: {selected.state.evaluations} evaluations are known", file=sys.stderr)
        state = selected.state
        try:
            steps = evaluate.run(
                rule, state, command, workers=given.workers, retries=given.retries
            )
            for told in steps:
                state = told.state
                selected.save(state)
                print(terminal.progress(rule, told), file=sys.stderr, flush=True)
            answer = rule.answer(state)
        except RunError as error:
            if state.alive:
                raise
            raise RunError(f"{error}; mend the command and delete {path} to try again") from None
    assert answer is not None
    return _out(as_json.result(rule, state, answer), terminal.print_result, given)


def _out(tree: dict[str, Any], show: Any, given: argparse.Namespace) -> int:
    from jaxeval.report.plain import plain

    if given.json:
        cli.write_json(given.json, plain(tree))
    if given.json != "-":
        for note in tree.get("warnings", ()):
            print(f"note: {note}")
        show(tree)
    return 0


if __name__ == "__main__":
    cli.run(main)
