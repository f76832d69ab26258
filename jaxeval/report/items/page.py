"""The page of a leaderboard: models on the items of several tasks."""

import itertools

from jaxeval.report import page, text
from jaxeval.report.items import answer, boards, verdict
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items.leaderboard import Board
from jaxeval.stats.items.study import ItemStudy
from jaxeval.version import VERSION

MOST_FIGURES = 12


def render(study: ItemStudy, gate: str = "") -> str:
    """One file without scripts, which opens offline.

    Args:
      gate: its last line, if there is one.
    """
    board = leaderboard.of(study)
    every = [*([board.overall] if board.overall else []), *board.tasks]
    return page.render(
        "items/page.html.jinja",
        version=VERSION,
        source=study.source,
        level=f"{study.rules.alpha:g}",
        answer=answer.sentences(study, board),
        warnings=warnings(study),
        headline=[*headline(study), *([gate] if gate else [])],
        overview=boards.overview(board, study),
        boards=[_section(each, study, k) for k, each in enumerate(every, 1)],
        sizes=boards.sizes(study),
        signature=verdict.signature(study),
    )


def headline(study: ItemStudy) -> list[str]:
    """What is said of all tasks; of more pairs than sentences, of which none is chosen, notes."""
    few = len(study.suite.overall) <= verdict.MOST_PAIRS
    return verdict.headline(study) if few else list(study.suite.notes)


def _section(board: Board, study: ItemStudy, number: int) -> dict[str, object]:
    figure = boards.drawn(board, study, number) if number <= MOST_FIGURES else None
    return {
        "title": boards.title(board),
        "table": boards.of_task(board, study),
        "told": boards.told_apart(board),
        "sentences": [*filter(None, (boards.groups(board), boards.detectable(board, study)))],
        "figure": None if figure is None else page.drawn(figure, figure.name),
    }


def warnings(study: ItemStudy) -> list[str]:
    """Of the logs, and of what the comparisons rest on, each once."""
    of_task = {
        task.task: {
            line: None
            for pair in study.pairs
            if pair.task.task == task.task
            for line in pair.difference.warnings
        }
        for task in study.tasks
    }
    lines = list(study.warnings)
    for line in dict.fromkeys(itertools.chain.from_iterable(of_task.values())):
        tasks = [task or "scores" for task, said in of_task.items() if line in said]
        on_all = len(tasks) == len(of_task)
        lines.append(line if on_all else f"{text.listed(tasks)}: {line}")
    return lines
