"""`jaxeval settle`: is a candidate better than a base? The answer holds at any look."""

import contextlib
import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import cli, launchers, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import (
    Changes,
    Count,
    Natural,
    NonNegative,
    Positive,
    Probability,
    Quiet,
    Seeds,
)
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.settlements import Settlements
    from jaxeval.report.settlements.settlement import Settlement
    from jaxeval.settle.reporting import Repeats

_Correction = Literal["none", "e-lond", "spending"]
_Statistic = Literal["t", "wins", "betting"]
_SEEDS = 30
_LEAST = 3  # seeds of `settle self`


@parameters.verb
def settle(
    base: "Source",
    candidate: "Source" = None,
    changes: Changes = (),
    *,
    seeds: Count = _SEEDS,
    margin: NonNegative = 0.0,
    alpha: Probability = 0.05,
    statistic: _Statistic = "t",
    data: str | Path | None = None,
    out: str | Path = "runs",
    own_splits: bool = False,
    part: Literal["dev", "test"] | None = None,
    ledger: str | Path | None = None,
    correction: _Correction = "none",
    note: str = "",
    again: bool = False,
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "Settlement":
    """Decides whether a candidate is better than a base, with as few seeds as possible.

    Trains both, seed after seed, until the candidate is better, worse, or equal within the margin.
    The claim holds however often you look and whenever you stop: with probability 1 - alpha no
    wrong claim is ever made. Exit codes: 0 better, 3 worse, 4 equal, 1 undecided or a seed of the
    candidate failed, 5 all seeds of each side have the same score, 2 an error, such as a base that
    fails.

    Args:
      base: TOML file or name of a shipped config.
      candidate: the same (default: the base with the changes).
      changes: changes to both configs; without CANDIDATE, the changes that make the candidate.
      seeds: maximum number of seeds of each side; the same command with more continues.
      margin: smallest difference that matters, in the metric's unit; "equal" requires one.
      alpha: probability of any wrong claim.
      own_splits: use the data's own split, instead of random split k with seed k.
      ledger: file that keeps all comparisons; scores of the base in it are reused.

    Examples:
      jaxeval settle CONFIG model.dropout=.5 --data DIR
      jaxeval settle A.toml B.toml training.epochs=5 --margin .005 --seeds 60
    """
    if candidate is None and not changes:
        raise ConfigError("settle: expected a second config, or changes that make the candidate")
    if ledger is None:
        for name, value in (("correction", correction), ("again", again), ("note", note)):
            if value not in ("none", False, ""):
                needed = f"{argument(name, value)}: needs a ledger, which keeps it"
                raise ConfigError(f"{needed}; add {argument('ledger', 'settle.db')}")
    launcher = launchers.prepare(launch)
    import jax

    from jaxeval import studies
    from jaxeval.bandits import Settle
    from jaxeval.settle import running

    common = [] if candidate is None else [*changes]
    first = studies.read(base, common, data)
    if candidate is None:
        second = studies.read(base, [*changes], data)
        second = dataclasses.replace(second, name=" ".join(changes))
    else:
        second = studies.read(candidate, common, data)
    ahead = len(jax.devices()) if launcher is None else -(-launcher.workers // 2)
    rule = Settle(most=seeds, margin=margin, alpha=alpha, statistic=statistic, ahead=ahead)
    request = running.Request(rule, correction, again, note, Path(ledger) if ledger else None)
    configs = first, second
    return running.settle_configs(configs, request, Path(out), own_splits, part, launcher, quiet)


@parameters.verb
def settle_command(
    base: str,
    candidate: str | None = None,
    *,
    base_folder: str | Path = ".",
    folder: str | Path = ".",
    seeds: Count = _SEEDS,
    margin: NonNegative = 0.0,
    alpha: Probability = 0.05,
    statistic: _Statistic = "t",
    paired: bool = False,
    json_field: str | None = None,
    pattern: str | None = None,
    lower_is_better: bool | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 1,
    workers: Count = 1,
    ledger: str | Path = "settle.db",
    correction: _Correction = "none",
    note: str = "",
    again: bool = False,
    quiet: Quiet = False,
) -> "Settlement":
    """Decides whether one command scores higher than another, with as few seeds as possible.

    Runs both, seed after seed, until the candidate is better, worse, or equal within the margin.
    The claim holds however often you look. The commands run without a shell. Their last line is
    the score: "0.71" or "accuracy: 0.71". Exit codes: 0 better, 3 worse, 4 equal, 1 undecided or a
    seed of the candidate failed, 5 all seeds of each side have the same score, 2 an error, such as
    a base that fails. The same command continues where it stopped. Several processes may use one
    ledger at the same time.

    Args:
      base: the command, which contains {seed}. If it contains {split}, scores of the same split
        are compared as pairs.
      candidate: the same (default: the base's command, run in another folder).
      base_folder: folder in which the base runs, such as a git worktree of the last version.
      folder: folder in which the candidate runs.
      seeds: maximum number of seeds of each side; the same command with more continues.
      margin: smallest difference that matters; "equal" requires one.
      alpha: probability of any wrong claim.
      paired: compare scores of the same seed as pairs, also without {split}.
      retries: number of retries of a failed seed; then nothing is claimed (wins: a lost pair).
      ledger: file that keeps all comparisons and scores; the same command continues from it.

    Examples:
      jaxeval settle command "python train.py --lr .1 --seed {seed}" \\
          "python train.py --lr .2 --seed {seed}" --workers 2
      jaxeval settle command "./train.sh {seed}" --base-folder ../base --correction e-lond
    """
    from jaxeval.bandits import Settle
    from jaxeval.settle import running, sides

    ahead = -(-workers // 2)
    rule = Settle(
        most=seeds, margin=margin, alpha=alpha, statistic=statistic, paired=paired, ahead=ahead
    )
    both = (base, base_folder), (base if candidate is None else candidate, folder)
    programs = [sides.program(*each, json_field, pattern, time_limit) for each in both]
    request = running.Request(rule, correction, again, note, Path(ledger))
    more: dict[str, Any] = {"workers": workers, "retries": retries, "quiet": quiet}
    with cli.resumable():
        return running.settle_commands(programs, request, lower_is_better, **more)


@parameters.verb
def settle_table(
    source: "str | Path | object",
    *models: str,
    seeds: Seeds | None = None,
    margin: NonNegative = 0.0,
    alpha: Probability = 0.05,
    statistic: _Statistic = "t",
    follow: Positive | None = None,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    lower_is_better: bool | None = None,
    quiet: Quiet = False,
) -> "Settlement":
    """Decides by recorded scores, to which you may add; the claim holds however often you look.

    Scores count in the order of their seeds (or splits, as pairs; or rows), up to the first that a
    model lacks, since runs that end early may score differently. Exit codes: 0 better, 3 worse, 4
    equal, 1 undecided or a run of the candidate failed, 5 all seeds of each model have the same
    score, 2 an error, such as a base that failed.

    Args:
      source: a table of scores, a runs folder or a database, as for compare; in Python also a dict
        of the scores of two models.
      models: the base and the candidate (default: the two models of the table, in its order).
      seeds: maximum number of seeds of each model, or a list of seeds, in order (default: all).
      margin: smallest difference that matters; "equal" requires one.
      alpha: probability of any wrong claim.
      follow: read the source every X seconds until it decides. Waits for every whole number from
        the lowest seed on, or for those in --seeds.
      column: ROLE=NAME says which column is the model, seed, split, dataset, metric, status or
        item. With item, items are compared as pairs.

    Examples:
      jaxeval settle table scores.csv old new --follow 60
      jaxeval settle table items.csv old new --column item=id --statistic betting
      jaxeval settle table runs tagger tagger_wide --margin .005
    """
    from jaxeval import sources
    from jaxeval.bandits import Settle
    from jaxeval.settle import tables

    roles = dict(column or {})
    item = roles.pop("item", None)
    layout = sources.layout(roles, score, metric, missing, lower_is_better, models)
    named = () if seeds is None or isinstance(seeds, int) else seeds
    most = seeds if isinstance(seeds, int) else len(named) or sys.maxsize
    rule = Settle(most=most, margin=margin, alpha=alpha, statistic=statistic)
    return tables.settle(source, layout, rule, named, item, follow=follow, quiet=quiet)


@parameters.verb
def settle_self(
    command: str,
    *,
    folder: str | Path = ".",
    seeds: Count = 10,
    json_field: str | None = None,
    pattern: str | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 1,
    workers: Count = 1,
    ledger: str | Path = "settle.db",
    quiet: Quiet = False,
) -> "Repeats":
    """Runs a command against itself: does its seed matter, and how large is the noise?

    Runs seeds 1, 2, ... and three of them again, or all if a score differs. Exit codes: 0; 1 if
    second runs of a seed differ from the first; 2 if all seeds have the same score. The same
    command continues where it stopped.

    Args:
      command: the command, which contains {seed}.
      folder: folder in which it runs.
      seeds: number of seeds, 3 or more.
      retries: number of retries of a failed seed; then the command ends with an error.
      ledger: file that keeps the scores, shared with settle command.

    Examples:
      jaxeval settle self "python train.py --seed {seed}"
    """
    from jaxeval.bandits.running import run
    from jaxeval.settle import ledger as ledgers
    from jaxeval.settle import reporting, running, sides

    if seeds < _LEAST:
        raise ConfigError(f"{argument('seeds', seeds)}: expected {_LEAST} or more")
    program = sides.program(command, folder, json_field, pattern, time_limit)
    side = sides.side(program)
    # the ledger keeps the scores: those of first runs are the side's own
    ids = {running.FIRST: side.id, running.AGAIN: f"{side.id} again"}
    with cli.resumable(), ledgers.opened(Path(ledger)) as book:
        runs = running.Runs(dict.fromkeys(ids, program), ids, book)
        repeating = running.Repeating(command, runs, seeds, workers)
        lines = run(repeating, runs, workers=workers, retries=retries, stop=runs.stop)
        with contextlib.closing(lines):
            for line in lines:
                cli.say(line, quiet)
    first, second = ([of[seed] for seed in sorted(of)] for of in repeating.found.values())
    spent = sum(runs.spent().values())
    return reporting.repeats(command, first, second, seconds=spent, notes=side.notes)


@parameters.verb
def settle_report(ledger: str | Path = "settle.db") -> "Settlements":
    """Shows the contents of a ledger: all candidates, all bases, and the noise.

    Lists kept and discarded candidates with intervals, levels, seeds and seconds, what the
    correction guarantees, and by how much the kept ones won, also with fresh seeds.

    Args:
      ledger: file written by settle.

    Examples:
      jaxeval settle report
      jaxeval settle report night.db --save night.html --save figures
    """
    from jaxeval.settle import reporting

    return reporting.report(Path(ledger))
