"""The page of a judgement of word vectors."""

from jaxeval.report import page
from jaxeval.report.judgement import data, figures
from jaxeval.report.judgement.data import Judged
from jaxeval.stats import judgement
from jaxeval.stats.judgement import Judgement
from jaxeval.version import VERSION


def render(of: Judged) -> str:
    """One file without scripts, which opens offline."""
    drawn = {  # one below the other: as large as they are drawn, letters too
        figure.name: page.drawn(figure, figure.name) | {"wide": True}
        for figure in figures.draw(of)
    }
    return page.render(
        "judgement/page.html.jinja",
        version=VERSION,
        files=of.files,
        same=of.same,
        tasks=[*of.metrics],
        coverage=[*data.coverage_rows(of)],
        modes=[_mode(mode, of, drawn) for mode in of.modes],
        cost=data.cost(of),
        signature=data.signature(of),
    )


def _mode(mode: Judgement, of: Judged, drawn: dict[str, dict[str, object]]) -> dict[str, object]:
    names = [f"scores_{mode.mode}", f"reductions_{mode.mode}"]
    return {
        "title": data.MODES[mode.mode],
        "baseline": mode.baseline,
        "score_head": data.score_head(mode, of.metrics),
        "scores": [*data.score_rows(mode)],
        "reduction_head": data.reduction_head(mode),
        "reductions": [*data.reduction_rows(mode)],
        "told_head": ["first", "second", judgement.MEAN, *mode.tasks],
        "told": [*data.told_rows(mode)],
        "sentences": [*data.sentences(mode, of.rules)],
        "figures": [drawn[name] for name in names if name in drawn],
    }
