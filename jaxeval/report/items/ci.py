"""A comparison for continuous integration: JUnit XML, and a line for a pull request."""

import re
from xml.etree import ElementTree

from jaxeval.report import latex_markdown, text
from jaxeval.report.items import verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.margins import ByMargin, Outcome
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.study import ItemStudy, TaskPair

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def junit(study: ItemStudy, gate: str = "") -> str:
    """A test a pair and task, and one of the mean over tasks.

    It passes where the first model is better, fails where it is worse, and is skipped where
    neither was shown.

    Args:
      gate: the gate's last line, if there is one.
    """
    suite = ElementTree.Element("testsuite", name="jaxeval compare")
    if len(study.tasks) > 1:
        scale = verdict.scale_of(study)
        for pair, by_margin in zip(study.suite.overall, study.overall, strict=True):
            said = verdict.overall(pair, by_margin, study, scale)
            name = f"{pair.a} against {pair.b}"
            _case(suite, name, "mean over tasks", by_margin.outcome, said)
    by_task = verdict.scales(study)
    for task_pair in study.pairs:
        name = f"{task_pair.a} against {task_pair.b}"
        scale = by_task[task_pair.task.task]
        said = " ".join(verdict.of_pair(task_pair, study, scale))
        _case(suite, name, _label(task_pair), task_pair.by_margin.outcome, said)
    lines = [*verdict.directions(study), *(f"warning: {w}" for w in study.warnings)]
    said = "\n".join([*lines, *([gate] if gate else [])])
    ElementTree.SubElement(suite, "system-out").text = _legal(said)
    for key, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f".//{tag}"))))
    suite.set("errors", "0")
    ElementTree.indent(suite)
    body = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _case(suite: ElementTree.Element, name: str, task: str, outcome: Outcome, said: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_legal(name), name=_legal(task))
    if outcome == "worse":
        ElementTree.SubElement(case, "failure", message="worse").text = _legal(said)
    elif outcome == "not shown":
        ElementTree.SubElement(case, "skipped", message="not shown")
    ElementTree.SubElement(case, "system-out").text = _legal(said)


def _legal(said: str) -> str:
    return _FORBIDDEN.sub("?", said)


def markdown(study: ItemStudy) -> str:
    """A line: what is said of the first of two models against the second, and its differences."""
    models, by_task = study.models, verdict.scales(study)
    parts = []
    if len(study.tasks) > 1:
        for pair, shown in zip(study.suite.overall, study.overall, strict=True):
            if (pair.a, pair.b) == models:
                p = _p_values(pair.p_adjusted, shown, study)
                scale = verdict.scale_of(study)
                parts.append(_shown("mean over tasks", pair.mean_over_tasks, p, scale))
    for on_task in study.pairs:
        if (on_task.a, on_task.b) == models:
            scale, label = by_task[on_task.task.task], latex_markdown.escaped(_label(on_task))
            p = _p_values(on_task.p_adjusted, on_task.by_margin, study)
            parts.append(_shown(label, on_task.difference, p, scale))
    over = verdict.OVER[study.pairs[0].difference.over]
    intervals = [on_task.difference.interval for on_task in study.pairs]
    intervals += [pair.mean_over_tasks.interval for pair in study.suite.overall]
    level = f"{100 * study.rules.confidence:.3g} % {text.methods({'differences': intervals})}"
    said = latex_markdown.escaped(verdict.outcome(study))
    better = latex_markdown.escaped("; ".join(verdict.directions(study)))
    warned = "".join(f" Warning: {latex_markdown.escaped(line)}." for line in study.warnings)
    return f"**{said}**: {'; '.join(parts)} ({level}; over {over}; {better}).{warned}\n"


def _shown(label: str, difference: Estimate, p_values: str, scale: ScoreFormat) -> str:
    interval = scale.interval(difference.possible)
    return f"{label} {scale.difference(difference.value)} {interval}, corrected p {p_values}"


def _p_values(p_adjusted: float, shown: ByMargin, study: ItemStudy) -> str:
    """Of the difference and, with a margin, of the test beyond it, on which an outcome rests."""
    of_difference = text.p_value(p_adjusted)
    if not study.rules.margin or study.withheld:
        return of_difference
    return (
        f"{of_difference} (of a difference), {text.p_value(shown.p_outcome)} (beyond the margin)"
    )


def _label(pair: TaskPair) -> str:
    """Task and metric."""
    return " ".join(filter(None, (pair.task.task, pair.task.metric)))
