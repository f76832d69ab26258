"""`python -m jaxeval.sensitivity`: how much a score depends on the hyperparameters."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.runs import arguments
from jaxeval.sensitivity import options

if TYPE_CHECKING:
    from jaxeval.report.figures import Figure
    from jaxeval.report.sweep.data import Sweep
    from jaxeval.sensitivity import Analysis
    from jaxeval.sensitivity.groups import Averaged
    from jaxeval.sensitivity.sources import SweepScores

_FEW = 2  # sweeps that are put side by side
_RESAMPLES = 1000
_DESCRIPTION = """\
The metrics of Wiemerslage et al. (2024) for random sweeps: how near to the best the other runs
come, how many are as good, how the score goes with each hyperparameter. Two sweeps are put side by
side; any number are averaged over datasets, for each architecture (--by, --over).
A sweep is a table with one row per run (CSV, TSV, JSON, Parquet) or a runs folder; sweeps that
jaxeval recorded need no flags: their space says what was drawn, in which order and when.
"""
_EPILOG = """\
examples (of our own; a published one of 200 runs, where an empty accuracy counts as 0; and all of
those, averaged over languages):
  python -m jaxeval.sensitivity RUNS --figures figures
  python -m jaxeval.sensitivity albanian-attentive_lstm.tsv --score max_val_accuracy --rows 200 \\
      --missing zero --hyperparameters batch_size,learning_rate,dropout,scheduler,factor \\
      --order scheduler=None,reduceonplateau,warmupinvsqrt --when factor:scheduler=reduceonplateau
  python -m jaxeval.sensitivity *.tsv --file-name '{dataset}-{architecture}-{task}.tsv' \\
      --by task,architecture --over dataset --score max_val_accuracy --rows 200 --missing zero \\
      --hyperparameters batch_size,hidden_size,embedding_size --convention published

docs/sensitivity.md defines the metrics and the three conventions, and describes the JSON.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("sensitivity", _DESCRIPTION, _EPILOG)
    parser.add_argument("sweeps", nargs="+", metavar="SWEEP", help="tables or runs folders")
    options.add_columns(parser)
    options.add_rows(parser)
    options.add_groups(parser)
    options.add_metrics(parser)
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="PATH", help="the metrics as JSON; absent: stdout"
    )
    parser.add_argument("--figures", metavar="DIR", help="docs/sensitivity.md lists them")
    cli.add_details(parser)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Reads, analyses, prints."""
    args = parser().parse_intermixed_args(words)
    if args.json not in (None, "-") and Path(args.json).suffix != ".json":
        raise ConfigError(f"--json {args.json}: expected a name that ends in .json, or -")
    reads = [*args.sweeps, args.space]
    outputs.refuse_unwritable(args.json, folder=args.figures, reads=reads, runs=args.sweeps)
    from jaxeval import sensitivity
    from jaxeval.report import figures
    from jaxeval.report.sweep import terminal
    from jaxeval.sensitivity import sources

    with cli.waiting("reading the sweeps, and resampling them for intervals"):
        loaded = sources.read(args.sweeps, options.request(args))
        sweeps = [_sweep(source, args.missing == "drop") for source in loaded]
        analyses = _analyses(loaded, args)
    gaps = sensitivity.difference(*analyses) if len(analyses) == 2 else {}
    averaged = _averaged(loaded, analyses, args)
    drawn = []
    if args.figures:
        drawn = _drawn(sweeps, averaged, args)
    if args.json:
        files.write_json(args.json, _tree(sweeps, analyses, gaps, averaged))
    paths = figures.save_all(drawn, Path(args.figures)) if args.figures else []
    if args.json != "-":
        names, notes = [source.name for source in loaded], _notes(loaded, args)
        terminal.show(names, analyses, gaps, averaged, notes, _unfit(loaded), args.details)
        for path in paths:
            print(f"figure: {path}")
    return 0


def _analyses(sources: Sequence["SweepScores"], args: argparse.Namespace) -> list["Analysis"]:
    """Of each sweep; intervals of each cost seconds, and averages of many do not need them."""
    from jaxeval import sensitivity

    resamples = args.resamples
    if resamples is None:
        resamples = _RESAMPLES if len(sources) <= _FEW else 0
    return [
        sensitivity.analyze(
            source.scores,
            source.values,
            rope=args.rope,
            ks=args.ks,
            convention=args.convention,
            declared=source.declared,
            resamples=resamples,
            seed=args.seed + number,  # two sweeps are drawn apart
        )
        for number, source in enumerate(sources)
    ]


def _averaged(
    sources: Sequence["SweepScores"], analyses: Sequence["Analysis"], args: argparse.Namespace
) -> "Averaged | None":
    """Averages over datasets, if they were asked for."""
    from jaxeval.sensitivity import groups

    if not args.by and args.over is None:
        return None
    labels, names = [source.labels for source in sources], [source.name for source in sources]
    over = args.over or "dataset"
    return groups.average(analyses, labels, names, arguments.names(args.by), over)


def _drawn(
    sweeps: Sequence["Sweep"], averaged: "Averaged | None", args: argparse.Namespace
) -> list["Figure"]:
    """Figures of the groups, else of each sweep.

    Raises:
      ConfigError: more than colours tell apart.
    """
    from jaxeval.report.sweep import figures

    count = len(sweeps if averaged is None else averaged.groups)
    if count > figures.MOST:
        raise ConfigError(
            f"--figures: {count} sweeps or groups; expected at most {figures.MOST}, which "
            "colours tell apart: average with --by and --over, or choose"
        )
    if averaged is None:
        return figures.draw(sweeps, args.convention, args.rope)
    return figures.draw_groups(sweeps, averaged)


def _tree(
    sweeps: Sequence["Sweep"],
    analyses: Sequence["Analysis"],
    gaps: Mapping,
    averaged: "Averaged | None",
) -> dict[str, Json]:
    from jaxeval.report.plain import plain
    from jaxeval.report.sweep import as_json

    trees = [
        {"name": one_sweep.name, **as_json.of_sweep(analysis)}
        for one_sweep, analysis in zip(sweeps, analyses, strict=True)
    ]
    if averaged is not None:
        return {"sweeps": trees, **as_json.of_groups(averaged, sweeps)}
    if len(trees) == 1:
        return trees[0]
    return {"sweeps": trees, **({"difference": plain(gaps)} if len(trees) == _FEW else {})}


def _sweep(source: "SweepScores", dropped: bool) -> "Sweep":
    """For figures; `dropped`: runs without a score were left out."""
    from jaxeval.report.sweep.data import Sweep
    from jaxeval.sensitivity import hyperparameters

    axes = hyperparameters.axes(source.values, source.declared, len(source.scores))
    return Sweep(source.name, source.scores, axes, lost=len(source.unusable) if dropped else 0)


def _notes(sources: Sequence["SweepScores"], args: argparse.Namespace) -> list[tuple[str, str]]:
    """What was wrong with the scores, and what was not read: of which sweep, and what."""
    from jaxeval.report import text
    from jaxeval.runs import imported

    notes = [
        (source.name, text.unusable(source.unusable, args.missing))
        for source in sources
        if source.unusable
    ]
    notes += [
        (str(location), f"left out, as they are no sweeps: {', '.join(beside)}")
        for location, beside in {source.location: source.beside for source in sources}.items()
        if beside
    ]
    notes += [
        (
            source.name,
            f"its {len(source.scores)} runs are taken for one sweep; not read: "
            f"{imported.listed(source.unread)} (--hyperparameters names those that were drawn)",
        )
        for source in sources
        if source.unread
    ]
    return notes


def _unfit(sources: Sequence["SweepScores"]) -> str:
    """Why nothing is shown, whatever the numbers: for the first sentence."""
    running = [f"{source.missing} of {source.name}" for source in sources if source.missing]
    if running:
        return f"runs have not ended ({', '.join(running)}); those that have are no fair sample"
    seeds = [source.seed for source in sources if source.seed is not None]
    if len(sources) == _FEW and len(set(seeds)) < len(seeds):
        return (
            f"both were drawn with seed {seeds[0]}: runs of one number share values, and the "
            "intervals of A - B, which take the sweeps for independent, do not hold"
        )
    return ""


if __name__ == "__main__":
    cli.run(main)
