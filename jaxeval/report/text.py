"""Numbers, notes and verdicts in words.

`sentence` and `against` name the best of several models, and those that may be as good. A cell is
what a pair of models is tested on: a data set or task, or "" if there is only one. All claims are
those of the tests.
"""

import math
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata

from jaxeval import __version__
from jaxeval.errors import argument
from jaxeval.errors import counted as counted
from jaxeval.runs import metrics
from jaxeval.runs.layout import Missing
from jaxeval.runs.normal import Unusable
from jaxeval.stats import Interval, Rules

_HALF = 0.0005  # of the last of three digits
# the number of an exit code tells its cause, and m1 is a name: notes that differ in them are not
# alike
_NUMBER = re.compile(r"(?<!exit code )(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_ASIDE = re.compile(r" \([^()]*\)")
_SUBJECT = re.compile(r"(task |setting )?(\S+): (.+)")
_MOST_NOTES = 8
_MOST_SUBJECTS = 3  # named in a note
_MOST_NAMED = 5  # models in a sentence

Signs = Mapping[tuple[str, str], Mapping[str, int]]  # (A, B) -> cell -> sign


def duration(seconds: float) -> str:
    """Formats seconds as seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def p_value(value: float) -> str:
    """Formats a p-value for a sentence: "= .031", "< .001", or "not known" for NaN."""
    if math.isnan(value):
        return "not known"
    digits = 4 if abs(value - 0.05) < _HALF else 3
    # never .050 for a value above the level
    while value > 0.05 >= round(value, digits) and digits < 6:
        digits += 1
    return "< .001" if value < 0.001 else f"= {value:.{digits}f}".replace("0.", ".")


def p_cell(value: float | None) -> str:
    """Formats a p-value for a table: ".031" or "< .001"."""
    return "-" if value is None else p_value(value).removeprefix("= ")


def level(alpha: float) -> str:
    """Formats a significance level: ".05"."""
    return f"{alpha:g}".removeprefix("0")


def confidence(interval: Interval | Rules) -> str:
    """Names an interval, or those of a comparison, by its level: "95 % CI"."""
    return f"{100 * interval.confidence:.3g} % CI"


def bounds(interval: Interval | None, shown: int | Callable[[float], str] = 2) -> str:
    """Formats an interval as "[low, high]"; "" without an interval, "-" without bounds.

    Args:
      shown: formats a bound; or the number of its decimals.
    """
    if interval is None:
        return ""
    if math.isnan(interval.low):
        return "-"
    form = shown if callable(shown) else f"{{:z.{shown}f}}".format
    low, high = (f"{x:g}" if math.isinf(x) else form(x) for x in interval[:2])
    return f"[{low}, {high}]"


def estimate(
    value: float, interval: Interval | None, shown: int | Callable[[float], str] = 2
) -> str:
    """Formats a number with its interval: "0.52 [0.50, 0.55]"; without one, alone."""
    form = shown if callable(shown) else f"{{:z.{shown}f}}".format
    return f"{form(value)} {bounds(interval, shown).removeprefix('-')}".rstrip()


def direction(higher_is_better: bool, assumed: bool, metric: str | None = None) -> str:
    """States which scores, of a metric, are better, and how to change an assumed direction."""
    of = "" if metric is None else f"{metric or 'score'}: "
    if assumed:
        return f"{of}higher is better (assumed; {argument('lower_is_better', True)} otherwise)"
    return f"{of}{'higher' if higher_is_better else 'lower'} is better"


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
    return metric, higher, direction(higher is not False, higher is None, metric or "")


def listed(names: Sequence[str]) -> str:
    """Joins names: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def few(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    """Joins the first names, and says how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return between.join([*names[:most], *more])


def ranging(counts: Iterable[int]) -> str:
    """Returns "3" for equal counts, else "3 to 5"."""
    every = [*counts]
    return " to ".join(map(str, dict.fromkeys((min(every), max(every)))))


def statuses(counts: Mapping[str, int]) -> str:
    """Lists how runs ended: "2 diverged, 22 early stopped"."""
    return ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in counts.items())


def unusable(scores: Sequence[Unusable], missing: Missing) -> str:
    """States how many scores were unusable and how they were treated."""
    done = "counted as 0" if missing == "zero" else "left out"
    first = scores[0]
    where = f"{'the first ' if len(scores) > 1 else ''}in row {first.row}, column {first.column}"
    return f"{counted(len(scores), 'unusable score')} {done}, {where} ({first.what})"


def versions() -> str:
    """Lists the versions of the software that computed the numbers."""
    found = {"jaxeval": __version__, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in ("numpy", "scipy")}
    return " | ".join(f"{name} {version}" for name, version in found.items())


def fold(notes: Iterable[str], noun: str = "file", details: bool = False) -> list[str]:
    """Merges notes of one kind, for instance to "3 sweeps (a, b, c): not read: name".

    Notes are of one kind if they differ only in numbers or in text in brackets. A note
    "task NAME: ..." is about a task ("setting N: ..." likewise), "NAME: ..." about a `noun`. With
    details, all are returned.
    """
    if details:
        return [*notes]
    kinds: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for note in notes:
        found = _SUBJECT.fullmatch(note)
        what, subject, message = found.groups() if found else (None, "", note)
        kind = (what or noun).strip(), _ASIDE.sub("", _NUMBER.sub("#", message))
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
        one = "".join(f"{what} {name}: " if name.isdigit() else f"{name}: " for name in subjects)
        lines.append((many if subjects[1:] else one) + message)
    rest = len(lines) - _MOST_NOTES
    return lines if rest <= 1 else [*lines[:_MOST_NOTES], f"{rest} more notes: --details"]


def signs(outcomes: Iterable[tuple[str, str, str, int]]) -> Signs:
    """Groups outcomes (A, B, cell, sign); the sign is 1 if A is better, -1 if B is, else 0."""
    grouped: dict[tuple[str, str], dict[str, int]] = {}
    for a, b, cell, sign in outcomes:
        grouped.setdefault((a, b), {})[cell] = sign
    return grouped


def record(shown: Signs, a: str, b: str) -> tuple[int, int, int]:
    """Returns the numbers of cells where A was better than B, worse, or neither was shown."""
    found = [*shown.get((a, b), {}).values(), *(-s for s in shown.get((b, a), {}).values())]
    return found.count(1), found.count(-1), found.count(0)


def leader(order: Sequence[str], shown: Signs) -> str:
    """Returns the model that is worse nowhere and wins most; `order` has the best mean first.

    If all are worse somewhere, wins less losses decide.
    """
    several = _cells(shown) > 1

    def key(model: str) -> tuple[bool, int, int]:
        records = [record(shown, model, other) for other in order if other != model]
        losses = sum(worse for _, worse, _ in records)
        wins = sum(better for better, *_ in records) if several else 0
        return losses > 0, losses - wins, order.index(model)

    return min(order, key=key)


def _cells(shown: Signs) -> int:
    return len({cell for cells in shown.values() for cell in cells})


def sentence(order: Sequence[str], shown: Signs, noun: str = "data set", where: str = "") -> str:
    """States which model is best, and which are worse or not told apart; without a full stop.

    Args:
      order: two or more models, best mean first.
      noun: what a cell is.
      where: of a single cell, such as " in the mean over 3 tasks".
    """
    if not any(sign for cells in shown.values() for sign in cells.values()):
        who = f"the {len(order)} models"
        cells = _cells(shown)
        on = {1: where, 2: f" on either {noun}"}.get(cells, f" on any of the {cells} {noun}s")
        return f"No difference between {joined(order) if len(order) == 2 else who} was shown{on}"
    best = leader(order, shown)
    one = _cells(shown) == 1
    of = {m: record(shown, best, m) for m in order if m != best}
    better, worse = (_than(side, of, noun) for side in (0, 1))
    if one and worse:
        return f"No model is best{where}: each is worse than some other model"
    leads = "scores best" if one and best == order[0] else "leads"
    leads = "is best" if all(each[0] == sum(each) > 0 for each in of.values()) else leads
    claims = [f"better {better}" if better else "", f"worse {worse}" if worse else ""]
    claim = f"{', but '.join(filter(None, claims))}"
    line = f"{best} {leads}{where}{f': it is {claim}' if claim else ''}"
    line = f"{best} is {claim}{where}" if claim and len(of) == 1 else line
    level = [model for model, each in of.items() if each[2]]
    apart = [model for model, each in of.items() if not any(each)]
    if level:
        told = f"{joined(level)} cannot be told apart from it"
        line += f"; {told if one else 'elsewhere no difference was shown'}"
    be = "are" if apart[1:] else "is"
    return line + (f"; {joined(apart)} {be} not compared with it" if apart else "")


def _than(side: int, counts: Mapping[str, tuple[int, int, int]], noun: str) -> str:
    """Names the models by the number of cells where the leader is better (side 0) or worse."""
    groups: dict[str, list[str]] = {}
    for model, each in sorted(counts.items(), key=lambda item: -item[1][side]):
        if each[side]:
            groups.setdefault(_on(side, each, noun), []).append(model)
    return listed([f"than {joined(models)}{where}" for where, models in groups.items()])


def against(control: str, order: Sequence[str], shown: Signs, noun: str = "data set") -> str:
    """States what was shown of all models against the control; without a full stop."""
    of = {model: record(shown, model, control) for model in order if model != control}
    parts = []
    for side, word in enumerate(("better", "worse")):
        named = [model + _on(side, each, noun) for model, each in of.items() if each[side]]
        parts += [f"{word}: {joined(named)}"] if named else []
    level = [model for model, each in of.items() if not any(each[:2])]
    parts += [f"no difference was shown: {joined(level)}"] if level else []
    return f"Against {control}, {'; '.join(parts)}"


def _on(side: int, record: tuple[int, int, int], noun: str) -> str:
    """Returns " on 2 of 3 tasks", or "" for a single cell."""
    count = record[side]
    cells = sum(record)
    if count < cells:
        return f" on {count} of {cells} {noun}s"
    return {1: "", 2: f" on both {noun}s"}.get(cells, f" on all {cells} {noun}s")


def joined(names: Sequence[str]) -> str:
    """Joins names: "a, b and c"; of many the first, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return listed([*names[:_MOST_NAMED], f"{more} more"] if more > 1 else names)
