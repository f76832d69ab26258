"""`vectors judge` without its arguments: plans, trains, judges, shows."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, cli, files, outputs
from jaxeval.errors import ConfigError
from jaxeval.vectors import judge_options

if TYPE_CHECKING:
    from jaxeval.judge.judging import Plan


def run(args: argparse.Namespace) -> int:
    """Does what the arguments of `judge_options` ask for."""
    data = judge_options.data_of(args.data, args.tasks)
    if [args.json, args.latex, args.csv].count("-") > 1:
        raise ConfigError("--json, --latex, --csv: expected at most one to go to stdout")
    texts = args.json, args.latex, args.csv, args.html
    reads, places = [*args.files, *data.values()], [args.out, args.store]
    outputs.refuse_unwritable(*texts, reads=reads, runs=places)
    backend.prepare()
    from jaxeval.judge import judging  # after the backend, as it imports jax

    changes = [word for word in args.files if "=" in word and not Path(word).exists()]
    files = [word for word in args.files if word not in changes]
    if not files:
        raise ConfigError("expected a file of vectors")
    plan = judging.plan(files, data, args.modes, cli.seeds_of(args), changes, args.baseline)
    if args.dry_run:
        return _dry_run(plan, args.json)
    return _judge(plan, args)


def _dry_run(plan: "Plan", json_path: str | None) -> int:
    from jaxeval.judge import judging
    from jaxeval.report.judgement import terminal

    if json_path:
        files.write_json(json_path, judging.describe(plan))
    if json_path != "-":
        terminal.show_plan(judging.programs(plan), plan.files)
    return 0


def _judge(plan: "Plan", args: argparse.Namespace) -> int:
    from jaxeval.judge import judging
    from jaxeval.report.judgement import as_json, page, paste, terminal
    from jaxeval.stats.rules import Rules

    rules = Rules(alpha=args.alpha, resamples=args.resamples, seed=args.resample_seed)
    judged = judging.judge(plan, Path(args.out), args.store, rules)
    writers = {"json": as_json.write, "csv": paste.csv, "latex": paste.latex}
    targets = {name: getattr(args, name) for name in writers if getattr(args, name)}
    for name, target in targets.items():
        files.write_out(target, writers[name](judged))
    if args.html:
        files.write_text(Path(args.html), page.render(judged))
    if "-" not in targets.values():
        terminal.show(judged)
    return 0
