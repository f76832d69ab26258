"""A judgement of word vectors as tables: CSV for machines, LaTeX for papers."""

import csv as csv_format
import io

from jaxeval.report import latex_markdown
from jaxeval.report.judgement import data
from jaxeval.report.judgement.data import Judged

_COLUMNS = ("model", "dataset", "seed", "score", "dev", "status", "mode", "vectors", "metric")


def csv(of: Judged) -> str:
    """A row a member, as `compare --table` reads it: a model is a file in a mode."""
    stream = io.StringIO()
    writer = csv_format.writer(stream, lineterminator="\n")
    # the metric's own column would keep apart what is compared as fractions
    writer.writerow([*_COLUMNS[:-1], "task_metric"])
    for mode, task, vectors, members in of.cells:
        for row in members:
            scored = (_cell(f"{vectors} {mode}"), task, row.seed, row.test, row.dev, row.status)
            writer.writerow([*scored, mode, _cell(vectors), of.metrics[task]])
    return stream.getvalue()


def _cell(text: str) -> str:
    """A name that no spreadsheet reads as a formula."""
    return f"'{text}" if text[:1] in "=+-@" else text


def latex(of: Judged) -> str:
    """Two tables a mode (booktabs), and what they rest on as comments."""
    blocks = []
    for mode in of.modes:
        blocks.append(f"% {data.MODES[mode.mode]}: test scores in percent, mean (sd) over seeds")
        head = data.score_head(mode, of.metrics)
        blocks.append(latex_markdown.latex_table(head, [*data.score_rows(mode)]))
        if mode.reductions:
            blocks.append(
                f"% {data.MODES[mode.mode]}: relative error reduction against {mode.baseline}, %"
            )
            head = data.reduction_head(mode)
            blocks.append(latex_markdown.latex_table(head, [*data.reduction_rows(mode)]))
        blocks += [f"% {line}" for line in data.sentences(mode, of.rules)]
    blocks.append(f"% {data.signature(of)}")
    return "\n\n".join(blocks) + "\n"
