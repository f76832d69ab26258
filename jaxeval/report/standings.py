"""One sentence that names the best of several models, and those that may be as good.

A cell is what a pair of models is tested on: a data set or task, or "" if there is only one. All
claims are those of the tests.
"""

from collections.abc import Iterable, Mapping, Sequence

from jaxeval.report import text

Signs = Mapping[tuple[str, str], Mapping[str, int]]  # (A, B) -> cell -> sign
_MOST_NAMED = 5  # models in a sentence


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

    def key(model: str) -> tuple[bool, int, int]:
        records = [record(shown, model, other) for other in order if other != model]
        losses = sum(worse for _, worse, _ in records)
        wins = sum(better for better, *_ in records) if _cells(shown) > 1 else 0
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
        who, cells = f"the {len(order)} models", _cells(shown)
        on = {1: where, 2: f" on either {noun}"}.get(cells, f" on any of the {cells} {noun}s")
        return f"No difference between {_named(order) if len(order) == 2 else who} was shown{on}"
    best = leader(order, shown)
    of = {m: record(shown, best, m) for m in order if m != best}
    if all(any(each) and each[0] == sum(each) for each in of.values()):
        than = f"better than {_named([*of])}{_on(0, max(of.values(), key=sum), noun)}"
        return (
            f"{best} is {than}{where}" if len(of) == 1 else f"{best} is best{where}: it is {than}"
        )
    if _cells(shown) > 1:
        return _over_cells(best, of, noun)
    if any(worse for _, worse, _ in of.values()):
        return f"No model is best{where}: each is worse than another one"
    better, _, level = ([m for m, each in of.items() if each[side]] for side in range(3))
    apart = [model for model, each in of.items() if not any(each)]
    parts = [f"{best} {'scores best' if best == order[0] else 'leads'}{where}"]
    parts += [f"{_named(level)} cannot be told from it"] if level else []
    rest = f"the {len(better)} others" if level and len(better) > _MOST_NAMED else _named(better)
    parts += [f"{rest} {_is(better)} worse"] if better else []
    parts += [f"{_named(apart)} {_is(apart)} not compared with it"] if apart else []
    return "; ".join(parts)


def _over_cells(best: str, of: Mapping[str, tuple[int, int, int]], noun: str) -> str:
    """Names the models by the number of cells where the leader is better, then worse."""
    sides = []
    for side in (0, 1):
        groups: dict[str, list[str]] = {}
        for model, each in sorted(of.items(), key=lambda item: -item[1][side]):
            if each[side]:
                groups.setdefault(_on(side, each, noun), []).append(model)
        than = [f"than {_named(models)}{where}" for where, models in groups.items()]
        sides.append(text.listed(than) if than else "")
    better, worse = sides
    if not better:
        return f"{best} leads, but was not shown to be better than another model on any {noun}"
    line = f"{best} is better" if len(of) == 1 else f"{best} leads: it is better"
    line += f" {better}{f', but worse {worse}' if worse else ''}"
    return line + ("; elsewhere no difference was shown" if any(r[2] for r in of.values()) else "")


def against(control: str, order: Sequence[str], shown: Signs, noun: str = "data set") -> str:
    """States what was shown of all models against the control; without a full stop."""
    of = {model: record(shown, model, control) for model in order if model != control}
    parts = []
    for side, word in enumerate(("better", "worse")):
        named = [model + _on(side, each, noun) for model, each in of.items() if each[side]]
        parts += [f"{word}: {_named(named)}"] if named else []
    level = [model for model, each in of.items() if not any(each[:2])]
    parts += [f"no difference was shown: {_named(level)}"] if level else []
    return f"Against {control}, {'; '.join(parts)}"


def _on(side: int, record: tuple[int, int, int], noun: str) -> str:
    """Returns " on 2 of 3 tasks", or "" for a single cell."""
    count, cells = record[side], sum(record)
    if count < cells:
        return f" on {count} of {cells} {noun}s"
    return {1: "", 2: f" on both {noun}s"}.get(cells, f" on all {cells} {noun}s")


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return text.listed([*names[:_MOST_NAMED], f"{more} more"] if more > 1 else names)
