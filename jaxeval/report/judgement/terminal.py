"""A judgement of word vectors on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval.report import tables, text
from jaxeval.report.judgement import data
from jaxeval.report.judgement.data import Judged
from jaxeval.stats import judgement


def show(of: Judged) -> None:
    """Prints scores, error reduced, what was told apart, and the cost."""
    console = tables.console()
    for line in of.same:
        console.print(line)
    console.print("tokens (types) of test with a vector")
    tables.print_table(console, ["vectors", *of.metrics], [*data.coverage_rows(of)])
    for mode in of.modes:
        console.print(f"\n{data.MODES[mode.mode]}: test scores in percent, mean (sd) over seeds")
        head = data.score_head(mode, of.metrics)
        tables.print_table(console, head, [*data.score_rows(mode)])
        if mode.reductions:
            console.print(
                f"\n{data.MODES[mode.mode]}: relative error reduction against {mode.baseline} in "
                "percent"
            )
            head = data.reduction_head(mode)
            tables.print_table(console, head, [*data.reduction_rows(mode)])
        pairs = [*data.told_rows(mode)]
        if pairs:
            console.print("\nshown to differ (> the first is better, < the second, = not shown)")
            head = ["first", "second", judgement.MEAN, *mode.tasks]
            tables.print_table(console, head, pairs, words=(0, 1))
        for line in data.sentences(mode, of.rules):
            console.print(line)
    console.print(f"\n{data.cost(of)}")
    console.print(data.signature(of))


def show_plan(programs: Sequence[Mapping[str, Any]], files: Mapping[str, str]) -> None:
    """Prints what would be trained: a row a program, and the files."""
    console = tables.console()
    head = ["task", "mode", "files", "trainings", "word tables (MB)"]
    rows = [
        [
            program["task"],
            program["mode"],
            ", ".join(program["vectors"]),
            str(program["members"]),
            f"{program['word_tables_bytes'] / 2**20:.3g}",
        ]
        for program in programs
    ]
    tables.print_table(console, head, rows, words=(0, 1, 2))
    for name, path in files.items():
        console.print(f"{name}: {path}")
    members = sum(program["members"] for program in programs)
    console.print(
        f"{text.counted(members, 'training')} in {text.counted(len(programs), 'program')}"
    )
