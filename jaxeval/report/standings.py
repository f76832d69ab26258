"""Who is best of several models, and who cannot be told from it, in one sentence.

A cell is what a pair of models is tested on: a data set, a task; "" where there is only one. All
that is said of better and worse is what these tests show.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxeval.report import text

Shown = Mapping[tuple[str, str], Mapping[str, int]]
_MOST_NAMED = 5  # models in a sentence


class Record(NamedTuple):
    """One model beside another: the cells where it was shown to be better, worse, neither."""

    better: list[str]
    worse: list[str]
    level: list[str]

    @property
    def cells(self) -> int:
        """On which the two were compared."""
        return sum(map(len, self))


def signs(found: Iterable[tuple[str, str, str, int]]) -> Shown:
    """(A, B) -> cell -> 1: A is better, -1: B is, 0: neither was shown; of (A, B, cell, sign)."""
    shown: dict[tuple[str, str], dict[str, int]] = {}
    for a, b, cell, sign in found:
        shown.setdefault((a, b), {})[cell] = sign
    return shown


def record(shown: Shown, a: str, b: str) -> Record:
    """A beside B."""
    found = Record([], [], [])
    for pair, side in (((a, b), 1), ((b, a), -1)):
        for cell, sign in shown.get(pair, {}).items():
            found[{1: 0, -1: 1, 0: 2}[side * sign]].append(cell)
    return found


def first(order: Sequence[str], shown: Shown) -> str:
    """The model that leads: of those that are worse nowhere the one of most wins, then the first.

    Args:
      order: models, best mean first.
    """

    def key(model: str) -> tuple[bool, int, int]:
        of = [record(shown, model, other) for other in order if other != model]
        losses = sum(len(each.worse) for each in of)
        wins = sum(len(each.better) for each in of) if _cells(shown) > 1 else 0
        return losses > 0, losses - wins, order.index(model)

    return min(order, key=key)


def _cells(shown: Shown) -> int:
    return len({cell for of in shown.values() for cell in of})


def sentence(order: Sequence[str], shown: Shown, noun: str = "data set", where: str = "") -> str:
    """Who is best, who cannot be told from it, who is worse; without a full stop.

    Args:
      order: two or more models, best mean first.
      noun: what a cell is.
      where: of a single cell: " in the mean over 3 tasks".
    """
    if not any(sign for cells in shown.values() for sign in cells.values()):
        who, cells = f"the {len(order)} models", _cells(shown)
        on = {1: where, 2: f" on either {noun}"}.get(cells, f" on any of the {cells} {noun}s")
        return f"No difference between {_named(order) if len(order) == 2 else who} was shown{on}"
    best = first(order, shown)
    of = {m: record(shown, best, m) for m in order if m != best}
    if all(each.cells and len(each.better) == each.cells for each in of.values()):
        most = max(of.values(), key=lambda each: each.cells)
        than = f"better than {_named([*of])}{_counted(most.better, most, noun)}"
        return (
            f"{best} is {than}{where}" if len(of) == 1 else f"{best} is best{where}: it is {than}"
        )
    if _cells(shown) > 1:
        return _over_cells(best, of, noun)
    if any(each.worse for each in of.values()):
        return f"No model is best{where}: each is worse than another one"
    worse = [model for model, each in of.items() if each.better]
    level = [model for model, each in of.items() if each.level]
    apart = [model for model, each in of.items() if not each.cells]
    said = [f"{best} {'scores best' if best == order[0] else 'leads'}{where}"]
    said += [f"{_named(level)} cannot be told from it"] if level else []
    rest = f"the {len(worse)} others" if level and len(worse) > _MOST_NAMED else _named(worse)
    said += [f"{rest} {_is(worse)} worse"] if worse else []
    said += [f"{_named(apart)} {_is(apart)} not compared with it"] if apart else []
    return "; ".join(said)


def _over_cells(best: str, of: Mapping[str, Record], noun: str) -> str:
    """Several cells, not on all of which the first one is better: models of as many together."""
    sides = []
    for side in (0, 1):
        groups: dict[str, list[str]] = {}
        for model, each in sorted(of.items(), key=lambda item: -len(item[1][side])):
            if each[side]:
                groups.setdefault(_counted(each[side], each, noun), []).append(model)
        than = [f"than {_named(models)}{where}" for where, models in groups.items()]
        sides.append(text.listed(than) if than else "")
    better, worse = sides
    if not better:
        return f"{best} leads, but was not shown to be better than another model on any {noun}"
    said = f"{best} is better" if len(of) == 1 else f"{best} leads: it is better"
    said += f" {better}{f', but worse {worse}' if worse else ''}"
    return said + ("; elsewhere no difference was shown" if any(r[2] for r in of.values()) else "")


def against(control: str, order: Sequence[str], shown: Shown, noun: str = "data set") -> str:
    """What was shown of all others against one model; without a full stop."""
    of = {model: record(shown, model, control) for model in order if model != control}
    said = []
    for words, side in (("better", 0), ("worse", 1)):
        named = [m + _counted(each[side], each, noun) for m, each in of.items() if each[side]]
        said += [f"{words}: {_named(named)}"] if named else []
    level = [model for model, each in of.items() if not (each.better or each.worse)]
    said += [f"no difference was shown: {_named(level)}"] if level else []
    return f"Against {control}, {'; '.join(said)}"


def _counted(cells: Sequence[str], of: Record, noun: str) -> str:
    """On how many of all; nothing of a single one."""
    if len(cells) < of.cells:
        return f" on {len(cells)} of {of.cells} {noun}s"
    return {1: "", 2: f" on both {noun}s"}.get(of.cells, f" on all {of.cells} {noun}s")


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return text.listed([*names[:_MOST_NAMED], f"{more} more"] if more > 1 else names)
