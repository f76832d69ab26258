"""Numbers and notes in words."""

import math
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata

from jaxeval import __version__
from jaxeval.errors import argument
from jaxeval.runs import metrics
from jaxeval.runs.layout import Missing
from jaxeval.runs.rows import Unusable
from jaxeval.stats.results import Interval

_HALF = 0.0005  # of the last of three digits
# the number of an exit code tells its cause, so notes that differ in it are not alike
_NUMBER = re.compile(r"(?<!exit code )(?<![\d.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_ASIDE = re.compile(r" \([^()]*\)")
_SUBJECT = re.compile(r"(task )?(\S+): (.+)")
_MOST_NOTES = 8
_MOST_SUBJECTS = 3  # named in a note


def duration(seconds: float) -> str:
    """Formats seconds as seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def p_value(value: float) -> str:
    """Formats a p-value for a sentence: "= .031", "< .001", or "not known" for NaN."""
    if math.isnan(value):
        return "not known"
    digits = 4 if abs(value - 0.05) < _HALF else 3  # never .050 for a value above the level
    return "< .001" if value < 0.001 else f"= {value:.{digits}f}".replace("0.", ".")


def p_cell(value: float | None) -> str:
    """Formats a p-value for a table: ".031" or "< .001"."""
    return "-" if value is None else p_value(value).removeprefix("= ")


def level(alpha: float) -> str:
    """Formats a significance level: ".05"."""
    return f"{alpha:g}".removeprefix("0")


def confidence(interval: Interval) -> str:
    """Names an interval by its level: "95 % CI"."""
    return f"{100 * interval.confidence:.3g} % CI"


def bounds(interval: Interval | None, digits: int = 2) -> str:
    """Formats an interval as "[low, high]"; "" without an interval, "-" without bounds."""
    if interval is None:
        return ""
    if math.isnan(interval.low):
        return "-"
    return f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def direction(higher_is_better: bool, assumed: bool) -> str:
    """States which scores are better, and how to change an assumed direction."""
    if assumed:
        return f"higher is better (assumed; {argument('lower_is_better', True)} otherwise)"
    return f"{'higher' if higher_is_better else 'lower'} is better"


def direction_of_field(
    json_field: str | None, lower_is_better: bool | None
) -> tuple[str | None, bool | None, str]:
    """Returns metric, whether higher is better (None: assumed), and a sentence about both.

    Args:
      json_field: path of the score that a command prints, such as test.nll; None: the score is
        not a field.
      lower_is_better: the user's word; None: the metric's name says it.
    """
    metric = json_field and json_field.rpartition(".")[2]
    said = None if lower_is_better is None else not lower_is_better
    higher = metrics.higher_is_better(metric) if said is None else said
    return metric, higher, f"{metric or 'score'}: {direction(higher is not False, higher is None)}"


def listed(names: Sequence[str]) -> str:
    """Joins names: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a count with its noun: "1 draw", "2 draws", "2 batches"."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def ranging(counts: Iterable[int]) -> str:
    """Returns "3" for equal counts, else "3 to 5"."""
    every = [*counts]
    return " to ".join(map(str, dict.fromkeys((min(every), max(every)))))


def statuses(counts: Mapping[str, int]) -> str:
    """Lists how runs ended: "2 diverged, 22 early stopped"."""
    return ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in counts.items())


def unusable(scores: Sequence[Unusable], missing: Missing) -> str:
    """States how many scores were unusable and how they were treated."""
    done, first = "counted as 0" if missing == "zero" else "left out", scores[0]
    where = f"row {first.row}, column {first.column} ({first.what})"
    return f"{len(scores)} unusable scores {done}, the first in {where}"


def versions() -> str:
    """Lists the versions of the software that computed the numbers."""
    found = {"jaxeval": __version__, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in ("numpy", "scipy")}
    return " | ".join(f"{name} {version}" for name, version in found.items())


def fold(notes: Iterable[str], noun: str = "file", details: bool = False) -> list[str]:
    """Merges notes of one kind, for instance to "3 sweeps (a, b, c): not read: name".

    Notes are of one kind if they differ only in numbers or in text in brackets. A note
    "task NAME: ..." is about a task, "NAME: ..." about a `noun`. With details, all are returned.
    """
    if details:
        return [*notes]
    kinds: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for note in notes:
        found = _SUBJECT.fullmatch(note)
        task, subject, message = found.groups() if found else (None, "", note)
        kind = "task" if task else noun, _ASIDE.sub("", _NUMBER.sub("#", message))
        subjects, messages = kinds.setdefault(kind, ([], []))
        subjects += [subject] if subject and subject not in subjects else []
        messages += [message] if message not in messages else []
    lines = []
    for (what, _), (subjects, messages) in kinds.items():
        bare = {_ASIDE.sub("", message) for message in messages}
        message = messages[0] + (" (numbers differ)" if messages[1:] else "")
        message = bare.pop() if len(messages) > 1 == len(bare) else message
        more = " ..." if len(subjects) > _MOST_SUBJECTS else ""
        many = f"{len(subjects)} {what}s ({', '.join(subjects[:_MOST_SUBJECTS])}{more}): "
        lines.append((many if subjects[1:] else f"{subjects[0]}: " if subjects else "") + message)
    rest = len(lines) - _MOST_NOTES
    return lines if rest <= 1 else [*lines[:_MOST_NOTES], f"{rest} more notes: --details"]
