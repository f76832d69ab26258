"""A command against itself: is it deterministic, does its seed matter, how large is the noise."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from jaxeval import cli
from jaxeval.bandits import pool
from jaxeval.errors import DataError, RunError
from jaxeval.report.settlements import repeats
from jaxeval.report.settlements.repeats import Repeats
from jaxeval.settle import ledger, sides
from jaxeval.settle.sides import Program
from jaxeval.stats.sequential import FIRST_LOOK

_FIRST, _AGAIN = "first run", "second run"
_Scores = dict[str, dict[int, float]]  # first or second run -> seed -> score


def settle(
    program: Program,
    seeds: int,
    path: Path,
    *,
    workers: int,
    retries: int,
    quiet: bool,
) -> Repeats:
    """Runs seeds 1, 2, ... of a command, and again three of them, or all if one differs.

    The ledger keeps the scores: those of first runs are the side's own.

    Raises:
      DataError: all seeds have one score.
      RunError: a seed has no score.
    """
    command, side = program.template, program.side()
    ids = {_FIRST: side.id, _AGAIN: f"{side.id} again"}
    with ledger.opened(path) as book:
        runner = sides.Runner(dict.fromkeys(ids, program), ids, book)
        few = [(run, seed) for seed in range(1, FIRST_LOOK + 1) for run in ids]
        rest = [(_FIRST, seed) for seed in range(FIRST_LOOK + 1, seeds + 1)]
        more = [(_AGAIN, seed) for _, seed in rest]
        found: _Scores = {run: {} for run in ids}
        stages = iter((few, rest, more))

        def ask(free: int) -> Sequence[tuple[str, int]]:
            """Begins the next stage when all of the last one have ended."""
            if free < workers:
                return ()
            if found[_FIRST]:
                _refuse_constant(command, found)
            same = all(found[_FIRST][k] == score for k, score in found[_AGAIN].items())
            done = len(found[_FIRST]) >= seeds
            return () if done and same else next(stages, ())

        trials = pool.run(runner, ask, workers=workers, retries=retries, stop=runner.stop)
        with contextlib.closing(trials):
            for (run, seed), result, again in trials:
                if isinstance(result, float):
                    found[run][seed] = result
                    if (run, seed) in runner.seconds:
                        cli.say(f"{run}, seed {seed}: {result:g}", quiet)
                elif again:
                    cli.say(f"{run}, seed {seed}: {result}; tried again", quiet)
                else:
                    raise RunError(f"seed {seed} has no score: {result}")
    first, second = ([of[seed] for seed in sorted(of)] for of in found.values())
    spent = sum(runner.spent().values())
    return repeats.repeats(command, first, second, seconds=spent, notes=side.notes)


def _refuse_constant(command: str, found: _Scores) -> None:
    """Raises DataError if all seeds have one score."""
    if len(every := {score for of in found.values() for score in of.values()}) == 1:
        raise DataError(
            f"seeds 1 to {max(found[_FIRST])} have one score, {every.pop():g}: the seed does not "
            "reach the program, or decides nothing; expected a program that uses {seed}",
            command,
        )
