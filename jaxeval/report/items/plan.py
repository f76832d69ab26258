"""How many items, samples and runs: in the terminal and as JSON."""

import sys
from collections.abc import Mapping
from typing import NamedTuple

from jaxeval.files import Json
from jaxeval.report import tables, text
from jaxeval.stats.items import Design, Pilot, Plan, Size, Spread
from jaxeval.stats.items.pilots import METHOD
from jaxeval.stats.items.results import FEW_CLUSTERS

Parts = Mapping[str, float | None]


class Planned(NamedTuple):
    """A plan, and what a pilot leaves open.

    Attributes:
      pilot: None: the spread was given.
      low, high: the plans if all variances were those at an end of their intervals; None: no pilot
        or, of `low`, no spread there.
      expected_power: of the cheapest design, averaged over what the pilot leaves open; None: no
        pilot or no design.
      millers_items: of one run each, without a pilot.
      runs: of the pilot's two models.
      unit: of costs; "" for one of the caller's own.
    """

    pilot: Pilot | None
    spread: Spread
    plan: Plan
    low: Plan | None = None
    high: Plan | None = None
    expected_power: float | None = None
    millers_items: int | None = None
    runs: tuple[int, int] | None = None
    unit: str = ""

    def parts(self, of: Spread) -> Parts:
        """Variances by name; None where a pilot of one run or sample has them in items."""
        parts: dict[str, float | None] = {**of.variances}
        size = self.plan.now.size
        if self.pilot and size.runs == 1:
            parts |= {"runs": None, "items_x_runs": None}
        if self.pilot and size.samples == 1:
            parts |= {"samples": None}
        return parts


def to_dict(planned: Planned) -> dict[str, Json]:
    """The variances, the designs and, of a pilot, what the ends of its intervals lead to."""
    plan, parts = planned.plan, planned.parts(planned.spread)
    tree: dict[str, Json] = {
        **parts,
        "difference": plan.difference,
        "target_power": plan.target,
        "now": _design(plan.now),
        "ways": {way: _design(of) for way, of in plan.ways.items()},
        "cheapest": _design(plan.cheapest),
    }
    if planned.pilot:
        low = planned.pilot.low
        tree["intervals"] = {
            "confidence": planned.pilot.confidence,
            "low": {**(planned.parts(low) if low else dict.fromkeys(parts, 0.0))},
            "high": {**planned.parts(planned.pilot.high)},
            "cheapest_low": _design(planned.low.cheapest if planned.low else plan.now),
            "cheapest_high": _design(planned.high.cheapest if planned.high else None),
        }
        tree["expected_power"] = planned.expected_power
        tree["runs_of_models"] = list(planned.runs) if planned.runs else None
    return tree


def _design(of: Design | None) -> Json:
    return None if of is None else {**of.size._asdict(), "cost": of.cost, "power": of.power}


def show(planned: Planned) -> None:
    """The pilot, the designs, the cheapest in a sentence, and how sure all that is."""
    console, plan, pilot = tables.console(), planned.plan, planned.pilot
    if pilot:
        console.print(
            f"The pilot: {_size(plan.now.size)}; it shows a difference of {plan.difference:g} "
            f"with probability {plan.now.power:.2f}."
        )
    if planned.runs and len({*planned.runs}) > 1:
        console.print(_unequal(*planned.runs))
    sds = (
        f"{name.replace('_', ' ')} {_sd(planned, name)}" for name in planned.parts(planned.spread)
    )
    level = f" ({100 * pilot.confidence:g} % CIs, {METHOD})" if pilot else ""
    console.print(f"Standard deviations of the difference{level}: {', '.join(sds)}")
    rows = _rows(planned)
    cost = f"cost ({planned.unit})" if planned.unit else "cost"
    head = ("", "items", "runs", "samples", cost, "power")
    tables.print_table(console, head, [[name, *_cells(of)] for name, of in rows.items()])
    if None in list(rows.values())[:-1]:
        console.print("-: no number that was tried suffices; what the others leave open stays.")
    if plan.cheapest and pilot:
        console.print(f"To buy next: {_bought(planned, plan.cheapest)}.")
        console.print(_how_sure(planned))
        console.print(_on_average(planned))
    if planned.millers_items is not None:
        console.print(
            f"Miller's (2024) equation, which takes the spread as known, gives "
            f"{text.counted(planned.millers_items, 'item')}."
        )
    if plan.now.size.runs == 1:
        console.print("One run of each model: it is taken as fixed, and other runs may differ.")
    if plan.cheapest and plan.cheapest.size.items < FEW_CLUSTERS:
        console.print(f"Fewer than {FEW_CLUSTERS} items tell little of others.")
    if plan.cheapest is None:
        print("No number of items, runs and samples that was tried suffices.", file=sys.stderr)


def _unequal(a: int, b: int) -> str:
    """What a plan of equal numbers makes of more runs of one model."""
    return (
        f"The models have {a} and {b} runs. A design has as many of both, and {min(a, b)} of each "
        "count as there: the probability now may be higher, and less may have to be bought, than "
        "said here."
    )


def _size(size: Size) -> str:
    n, r, k = size
    return (
        f"{text.counted(n, 'item')}, {text.counted(r, 'run')} of each model, "
        f"{text.counted(k, 'sample')}"
    )


def _sd(planned: Planned, name: str) -> str:
    """With its interval, of a pilot."""
    value = planned.parts(planned.spread)[name]
    if value is None:
        return "unknown"
    if planned.pilot is None:
        return f"{value**0.5:.3g}"
    ends = (planned.pilot.low, planned.pilot.high)
    low, high = (0.0 if end is None else getattr(end, name) ** 0.5 for end in ends)
    return f"{value**0.5:.3g} [{low:.3g}, {high:.3g}]"


def _bought(planned: Planned, design: Design) -> str:
    """What is new: 200 items, 1 run of each model."""
    now, unit = planned.plan.now.size, f" {planned.unit}".rstrip()
    items, runs = design.size.items - now.items, design.size.runs - now.runs
    new = [text.counted(items, "item")] if items else []
    new += [f"{text.counted(runs, 'run')} of each model"] if runs else []
    if design.size.samples > now.samples:
        new.append(f"{design.size.samples - now.samples} more of each answer")
    return f"{text.listed(new)}, for {_cost(design)}{unit}" if new else "nothing; this is enough"


def _cost(design: Design) -> str:
    """Without an exponent: 2,789,184 or 0.125."""
    cost = design.cost
    return f"{cost:,.0f}" if cost >= 1000 else f"{cost:.6g}"


def _how_sure(planned: Planned) -> str:
    """What the ends of the pilot's intervals lead to."""
    assert planned.pilot is not None
    ends = []
    for name, of in (("low", planned.low), ("high", planned.high)):
        if of is None:
            ends.append(f"at their {name} ends nothing")
        elif of.cheapest is None:
            ends.append(f"at their {name} ends nothing that was tried suffices")
        else:
            ends.append(f"at their {name} ends {_bought(planned, of.cheapest)}")
    return f"The pilot leaves open how much: with all spreads {'; '.join(ends)}."


def _on_average(planned: Planned) -> str:
    """The expected power, and what to do where it is below the one asked for."""
    assert planned.expected_power is not None
    shown = f"{planned.expected_power:.2f}"
    line = "Averaged over what the pilot leaves open, that shows the difference with probability "
    line += shown
    if float(shown) >= planned.plan.target:
        return f"{line}."
    return f"{line}: a larger pilot, or a higher --power, makes up for it."


def _rows(planned: Planned) -> dict[str, Design | None]:
    """What is shown, by name: ways of which something is known, then the cheapest design."""
    plan = planned.plan
    if planned.pilot is None:
        return {"items alone": plan.ways["items"], "cheapest": plan.cheapest}
    samples = bool(planned.parts(planned.spread)["samples"])
    known = {"items": True, "samples": samples, "runs": plan.now.size.runs > 1}
    ways = {f"more {way} alone": design for way, design in plan.ways.items() if known[way]}
    return {**ways, "cheapest": plan.cheapest}


def _cells(design: Design | None) -> list[str]:
    if design is None:
        return [*"-----"]
    return [*map(str, design.size), _cost(design), f"{design.power:.2f}"]
