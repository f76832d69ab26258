"""The page of a search: the answer, its noise, what matters, all figures; opens offline."""

from collections.abc import Sequence

from jaxeval.report import page
from jaxeval.report.figures import Figure
from jaxeval.report.tuning import importance, terminal
from jaxeval.report.tuning.as_json import Result


def render(tree: Result, drawn: Sequence[Figure]) -> str:
    """The page of a search that has a score.

    Args:
      drawn: `figures.draw`.
    """
    head, rows = terminal.table(tree)
    of = tree["posterior"]
    return page.render(
        "tuning/page.html.jinja",
        tree=tree,
        head=head,
        rows=rows,
        answer=[terminal.sentence(tree), *terminal.worth(tree)],
        notes=[*terminal.losses(tree), *terminal.notes(tree), *importance.sentences(tree)],
        neighbourhood=[] if of is None else [*importance.neighbourhood(of)],
        figures=[page.drawn(figure, f"tuning-{figure.name}") for figure in drawn],
    )
