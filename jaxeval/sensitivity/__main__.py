"""`python -m jaxeval.sensitivity`: how much an architecture's score hangs on its settings."""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.report.sweep_data import Sweep
    from jaxeval.sensitivity.hyperparameters import Declared
    from jaxeval.sensitivity.sources import Source, Wanted

_DESCRIPTION = """\
The metrics of Wiemerslage et al. (2024) for one random sweep, or for two side by side: how near to
the best the other runs come, how many are as good, how the score goes with each hyperparameter.
A sweep is a table with a row a run (CSV, TSV, JSON, Parquet) or a runs folder; sweeps that jaxeval
recorded need no flags: their space says what was drawn, in which order and when.
"""
_EPILOG = """\
examples (of our own; and a published one of 200 runs, where an empty accuracy counts as 0):
  python -m jaxeval.sensitivity RUNS --figures figures
  python -m jaxeval.sensitivity albanian-attentive_lstm.tsv --score max_val_accuracy --rows 200 \\
      --missing zero --hyperparameters batch_size,learning_rate,dropout,scheduler,factor \\
      --order scheduler=None,reduceonplateau,warmupinvsqrt --when factor:scheduler=reduceonplateau

--declare FILE holds the same as TOML:
  [scheduler]
  order = ["None", "reduceonplateau", "warmupinvsqrt"]
  [factor]
  when = { scheduler = ["reduceonplateau"] }

docs/sensitivity.md defines the metrics and the three conventions, and describes the JSON.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("sensitivity", _DESCRIPTION, _EPILOG)
    made.add_argument("sweeps", nargs="+", metavar="SWEEP", help="tables or runs folders")
    made.add_argument(
        "--score", metavar="COLUMN", help="fractions (score; dev in a sweep of a runs folder)"
    )
    made.add_argument(
        "--experiment",
        action="append",
        default=[],
        metavar="NAME",
        help="only this name or id of a runs folder; may be repeated (all sweeps)",
    )
    made.add_argument(
        "--hyperparameters",
        nargs="+",
        default=[],
        metavar="A",
        help="columns: A B or A,B (all that a recorded sweep drew)",
    )
    made.add_argument(
        "--order", action="append", default=[], metavar="NAME=A,B,..", help="of a category"
    )
    made.add_argument(
        "--when",
        action="append",
        default=[],
        metavar="NAME:OTHER=A,B",
        help="NAME has an effect only where OTHER is A or B",
    )
    made.add_argument("--declare", metavar="FILE", help="orders and conditions as TOML")
    made.add_argument("--rows", type=arguments.whole, metavar="N", help="only the first N rows")
    made.add_argument(
        "--missing",
        choices=("error", "drop", "zero"),
        default="error",
        help="what to do with a missing score; zero: a run that failed scored 0 (error)",
    )
    made.add_argument("--rope", type=float, default=0.01, help="as good as equal (.01)")
    made.add_argument("--ks", type=_ks, default=(25, 50, 100, 150), metavar="A,B,..")
    made.add_argument("--convention", choices=("default", "published", "text"), default="default")
    made.add_argument(
        "--resamples", type=arguments.count, default=1000, help="of the intervals (1000)"
    )
    made.add_argument("--seed", type=arguments.count, default=0, help="of the resamples (0)")
    made.add_argument(
        "--json", nargs="?", const="-", metavar="PATH", help="the metrics as JSON; absent: stdout"
    )
    made.add_argument("--figures", metavar="DIR", help="ranks, profile, marginals, best")
    return made


def _ks(text: str) -> tuple[int, ...]:
    return tuple(arguments.whole(part) for part in text.split(","))


def main(words: Sequence[str] | None = None) -> int:
    """Reads, analyses, prints."""
    given = parser().parse_intermixed_args(words)
    if len(given.sweeps) > 2:
        raise ConfigError(f"sweeps: expected one or two, got {len(given.sweeps)}")
    if given.json not in (None, "-") and Path(given.json).suffix != ".json":
        raise ConfigError(f"--json {given.json}: expected a name that ends in .json, or -")
    from jaxeval import sensitivity
    from jaxeval.report import figures, sweep, sweep_figures
    from jaxeval.sensitivity import sources

    found = sources.read(given.sweeps, _wanted(given))
    sweeps = [_sweep(one) for one in found]
    analyses = [
        sensitivity.analyze(
            one.scores,
            one.values,
            rope=given.rope,
            ks=given.ks,
            convention=given.convention,
            declared=one.declared,
            resamples=given.resamples,
            seed=given.seed + place,  # two sweeps are drawn apart
        )
        for place, one in enumerate(found)
    ]
    gaps = sensitivity.difference(*analyses) if len(analyses) == 2 else {}
    if given.figures:
        figures.folder(Path(given.figures))  # before anything is written
    if given.json:
        cli.write_json(given.json, _tree(sweeps, analyses, gaps))
    paths: list[Path] = []
    if given.figures:
        drawn = sweep_figures.draw(sweeps, given.convention, given.rope)
        paths = figures.save_all(drawn, Path(given.figures))
    if given.json != "-":
        sweep.print_sweeps([one.name for one in sweeps], analyses, gaps, _notes(found, given))
        for path in paths:
            print(f"figure: {path}")
    return 0


def _tree(sweeps: Sequence["Sweep"], analyses: Sequence[Any], gaps: Mapping) -> dict[str, Any]:
    from jaxeval.report import sweep
    from jaxeval.report.plain import plain

    trees = [
        {"name": one.name, **sweep.to_dict(found)}
        for one, found in zip(sweeps, analyses, strict=True)
    ]
    return trees[0] if len(trees) == 1 else {"sweeps": trees, "difference": plain(gaps)}


def _wanted(given: argparse.Namespace) -> "Wanted":
    from jaxeval.sensitivity.sources import Wanted

    return Wanted(
        score=given.score,
        hyperparameters=arguments.names(given.hyperparameters),
        declared=_declared(given),
        rows=given.rows,
        missing=given.missing,
        experiments=given.experiment,
    )


def _sweep(one: "Source") -> "Sweep":
    from jaxeval.report.sweep_data import Sweep
    from jaxeval.sensitivity import hyperparameters

    axes = hyperparameters.axes(one.values, one.declared, len(one.scores))
    return Sweep(one.name, one.scores, axes)


def _notes(found: Sequence["Source"], given: argparse.Namespace) -> list[str]:
    """What was wrong with the scores, and what the intervals do not know."""
    from jaxeval.report import verdict

    notes = [
        f"{one.name}: {verdict.unusable(one.unusable, given.missing)}"
        for one in found
        if one.unusable
    ]
    notes += [
        f"{one.name}: {one.missing} of its runs have not ended; those that have are no fair sample"
        for one in found
        if one.missing
    ]
    seeds = [one.seed for one in found if one.seed is not None]
    if len(set(seeds)) < len(seeds):
        notes.append(
            f"both were drawn with seed {seeds[0]}: runs of one number share values, and the "
            "intervals of A - B, which take the sweeps for independent, do not hold"
        )
    return notes


def _declared(given: argparse.Namespace) -> "Declared":
    from jaxeval.sensitivity.hyperparameters import Declared

    orders, conditions = _file(given.declare) if given.declare else ({}, {})
    for name, values in arguments.roles(given.order).items():
        orders[name] = values.split(",")
    for text in given.when:
        name, colon, condition = text.partition(":")
        other, equals, values = condition.partition("=")
        if not (name and colon and other and equals):
            raise ConfigError(f"--when {text!r}: expected NAME:OTHER=A,B")
        conditions.setdefault(name, {})[other] = values.split(",")
    return Declared(orders, conditions)


def _file(path: str) -> tuple[dict[str, Sequence[str]], dict[str, dict[str, Sequence[str]]]]:
    try:
        tree = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML ({error})") from None
    orders: dict[str, Sequence[str]] = {}
    conditions: dict[str, dict[str, Sequence[str]]] = {}
    for name, said in tree.items():
        known = isinstance(said, dict) and set(said) <= {"order", "when"}
        if not known or not isinstance(said.get("when", {}), dict):
            raise ConfigError(
                f"{path}: {name}: expected a table with order = [..], when = {{ .. }} or both"
            )
        if "order" in said:
            orders[name] = _texts(path, f"{name}.order", said["order"])
        for other, values in said.get("when", {}).items():
            wanted = _texts(path, f"{name}.when.{other}", values)
            conditions.setdefault(name, {})[other] = wanted
    return orders, conditions


def _texts(path: str, key: str, values: Any) -> list[str]:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{path}: {key}: expected a list of values, got {values!r}")
    return [str(value) for value in values]


if __name__ == "__main__":
    cli.run(main)
