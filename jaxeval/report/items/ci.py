"""A comparison for continuous integration: JUnit XML, and a line for a pull request."""

import re
from xml.etree import ElementTree

from jaxeval.report import text
from jaxeval.report.comparison import paste
from jaxeval.report.items import verdict
from jaxeval.stats.items.study import ItemStudy, Outcome

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def junit(study: ItemStudy) -> str:
    """A test a pair and task, and one of the mean over tasks.

    It passes where the first model is better, fails where it is worse, and is skipped where
    neither was shown.
    """
    suite = ElementTree.Element("testsuite", name="jaxeval compare")
    several = len(study.tasks) > 1
    for pair, outcome in zip(study.suite.overall, study.overall, strict=True):
        if several:
            name = f"{pair.a} against {pair.b}"
            _case(suite, name, "mean over tasks", outcome, verdict.headline(study)[0], study)
    for task_pair in study.pairs:
        name = f"{task_pair.a} against {task_pair.b}"
        said = " ".join(verdict.of_pair(task_pair, study))
        label = " ".join(filter(None, (task_pair.task.task, task_pair.task.metric)))
        _case(suite, name, label, task_pair.outcome, said, study)
    for key, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f".//{tag}"))))
    suite.set("errors", "0")
    ElementTree.indent(suite)
    body = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _case(
    suite: ElementTree.Element,
    name: str,
    task: str,
    outcome: Outcome,
    said: str,
    study: ItemStudy,
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_legal(name), name=_legal(task))
    if outcome == "worse":
        ElementTree.SubElement(case, "failure", message="worse").text = _legal(said)
    elif outcome == "not shown":
        ElementTree.SubElement(case, "skipped", message="not shown")
    ElementTree.SubElement(case, "system-out").text = _legal(said)


def _legal(said: str) -> str:
    return _FORBIDDEN.sub("?", said)


def markdown(study: ItemStudy) -> str:
    """A line: what is said of the first model against the second, and its differences."""
    a, b = study.models[:2]
    parts = []
    for pair in study.pairs:
        if (pair.a, pair.b) == (a, b):
            scale = verdict.scale_of(study, pair.task.task)
            label = " ".join(filter(None, (pair.task.task, pair.task.metric)))
            parts.append(
                f"{paste.escaped(label)} {scale.difference(pair.difference.value)} "
                f"{scale.interval(pair.difference.interval)}, p {text.p_value(pair.p_adjusted)}"
            )
    over = verdict.OVER[study.pairs[0].difference.over]
    level = f"{100 * study.rules.confidence:.3g}"
    said = paste.escaped(verdict.outcome(study))
    return f"**{said}**: {'; '.join(parts)} ({level} % CI, over {over})\n"
