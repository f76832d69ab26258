"""`python -m jaxeval.noise`: how much of the spread is the seed's, and how much the machine's."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxeval import cli
from jaxeval.errors import DataError

_DESCRIPTION = """\
Trains every seed several times (Melis et al. 2018, section 7.2) and splits the spread of dev and
test scores into that of the same seed repeated (a GPU may add up in another order each time) and
that between seeds. On a CPU the same seed gives the same scores, and only the seeds' part is left.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.noise CONFIG --data DIR --seeds 8 --repeats 4
  python -m jaxeval.noise CONFIG --data DIR --seeds 8 --repeats 4 --json noise.json

The same command continues what was interrupted.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("noise", _DESCRIPTION, _EXAMPLES)
    cli.add_config(made)
    cli.add_seeds(made)
    made.add_argument(
        "--repeats", type=cli.positive, default=4, metavar="R", help="runs of each seed (4)"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, trains, splits the spread, prints."""
    made = parser()
    given = cli.parse_config(made, arguments)
    seeds = cli.seeds_of(given)
    if given.repeats < 2 or len(seeds) < 2:
        made.error("expected 2 or more --repeats of 2 or more seeds")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.studies import proposers

    config = studies.read(given.config, given.changes, given.data)
    rows = observe.train(proposers.repeats(config, seeds, given.repeats), Path(given.out))
    found = _split(rows, seeds)
    if given.json:
        content = {part: dataclasses.asdict(noise) for part, noise in found.items()}
        cli.write_json(given.json, {"metric": rows[0].metric, **content})
    if given.json != "-":
        _show(found, rows[0].metric)
    return 0


def _split(rows: Sequence[Any], seeds: Sequence[int]) -> dict[str, Any]:
    """The components of dev and test, over the seeds of which no run failed."""
    from jaxeval.stats import repeats

    found = {}
    for part in ("dev", "test"):
        by_seed = {seed: [getattr(r, part) for r in rows if r.seed == seed] for seed in seeds}
        whole = [scores for scores in by_seed.values() if None not in scores]
        if len(whole) < len(seeds):
            lost = len(seeds) - len(whole)
            print(f"{part}: {lost} seeds left out, a run of each has no score", file=sys.stderr)
        if len(whole) < 2:
            raise DataError(f"noise: {len(whole)} seeds have scores of all their runs; 2 needed")
        found[part] = repeats.noise(whole)
    return found


def _show(found: dict[str, Any], metric: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in (metric, "mean", "sd of any run", "sd of one seed repeated", "sd between seeds"):
        table.add_column(title, no_wrap=True)
    for part, noise in found.items():
        table.add_row(
            part,
            f"{noise.mean:.4g}",
            f"{noise.sd:.3g}",
            _with_interval(noise.sd_repeat, noise.sd_repeat_interval),
            _with_interval(noise.sd_seed, noise.sd_seed_interval),
        )
    console = Console(highlight=False, soft_wrap=True, width=160)
    console.print(table)
    first = found["dev"]
    console.print(
        f"{first.seeds} seeds, {first.repeats} runs each; 95 % intervals for normal scores"
    )
    if all(noise.sd_repeat == 0 for noise in found.values()):
        console.print("the same seed gave the same scores, to the last bit")


def _with_interval(sd: float, interval: tuple[float, float]) -> str:
    return f"{sd:.3g} ({interval[0]:.3g} to {interval[1]:.3g})"


if __name__ == "__main__":
    cli.run(main)
