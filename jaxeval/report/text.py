"""Numbers and notes as words: what the rooms of the report say alike."""

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata

from jaxeval import __version__
from jaxeval.errors import argument
from jaxeval.runs import metrics
from jaxeval.runs.layout import Missing
from jaxeval.runs.rows import Unusable
from jaxeval.stats.results import Interval

_HALF = 0.0005  # of the last of three digits


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def p_value(value: float) -> str:
    """After a p: = .031 or < .001; of one that is not known (NaN) so."""
    if math.isnan(value):
        return "not known"
    digits = 4 if abs(value - 0.05) < _HALF else 3  # never .050 of what is above the level
    return "< .001" if value < 0.001 else f"= {value:.{digits}f}".replace("0.", ".")


def p_cell(value: float | None) -> str:
    """In a table: .031 or < .001."""
    return "-" if value is None else p_value(value).removeprefix("= ")


def level(alpha: float) -> str:
    """.05."""
    return f"{alpha:g}".removeprefix("0")


def confidence(interval: Interval) -> str:
    """What kind of interval it is: 95 % CI."""
    return f"{100 * interval.confidence:.3g} % CI"


def methods(intervals: Mapping[str, Iterable[Interval | None]]) -> str:
    """How the intervals of each kind were made: CIs of means by t; of differences by Welch."""
    said = []
    for kind, of in intervals.items():
        found = dict.fromkeys(i.method for i in of if i is not None and not i.absent)
        said += [f"of {kind} by {' or '.join(found)}"] if found else []
    return f"CIs {'; '.join(said)}" if said else "no CIs"


def bounds(interval: Interval | None, digits: int = 2) -> str:
    """[low, high] of a number that has no unit; nothing where there is none, - without ends."""
    if interval is None:
        return ""
    if math.isnan(interval.low):
        return "-"
    return f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def direction(higher_is_better: bool, assumed: bool) -> str:
    """Which scores are better; of a metric of which nothing is known, how to say otherwise."""
    if assumed:
        return f"higher is better (assumed; {argument('lower_is_better', True)} otherwise)"
    return f"{'higher' if higher_is_better else 'lower'} is better"


def direction_of_field(
    json_field: str | None, asked: bool | None
) -> tuple[str | None, bool | None, str]:
    """Metric, whether higher is better (None: assumed), a sentence; of scores a command prints.

    Args:
      json_field: the path of the score, such as test.nll; None: the score is no field.
      asked: by a flag.
    """
    metric = json_field and json_field.rpartition(".")[2]
    higher = metrics.higher_is_better(metric) if asked is None else asked
    return metric, higher, f"{metric or 'score'}: {direction(higher is not False, higher is None)}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(count: int, noun: str, plural: str = "") -> str:
    """1 draw, 2 draws; 2 batches by their own plural."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def ranging(counts: Iterable[int]) -> str:
    """3, or 3 to 5."""
    every = [*counts]
    return " to ".join(map(str, dict.fromkeys((min(every), max(every)))))


def statuses(counts: Mapping[str, int]) -> str:
    """How runs ended: 2 diverged, 22 early stopped."""
    return ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in counts.items())


def unusable(scores: Sequence[Unusable], missing: Missing) -> str:
    """How many scores were unusable, and what became of them."""
    done, first = "counted as 0" if missing == "zero" else "left out", scores[0]
    where = f"row {first.row}, column {first.column} ({first.what})"
    return f"{len(scores)} unusable scores {done}, the first in {where}"


def versions() -> str:
    """What computed the numbers."""
    libraries = (f"{name} {metadata.version(name)}" for name in ("numpy", "scipy"))
    return " | ".join(
        [f"jaxeval {__version__}", *libraries, f"python {platform.python_version()}"]
    )
