"""How many items, answers and runs show a difference: sentences and a table."""

from collections.abc import Iterator, Mapping

from jaxeval.report import text
from jaxeval.report.document import Block, Table
from jaxeval.stats.items.estimates import FEW_CLUSTERS
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.items.planning import Design, Plan


def blocks(
    plan: Plan, spread: Spread, pilot: Pilot | None, ends: Mapping[str, Plan | None]
) -> Iterator[Block]:
    """The pilot, the standard deviations, the designs.

    Args:
      ends: "low" and "high": the plans if all variances were those at an end of their intervals.
    """
    if pilot is not None:
        yield (
            f"The pilot: {_size(plan.now.size)}; it shows a difference of {plan.difference:g} "
            f"with probability {plan.now.power:.2f}."
        )
    sds = ", ".join(
        f"{name.replace('_', ' ')} {_sd(name, spread, pilot)}" for name in spread.variances
    )
    level = "" if pilot is None else f" ({100 * pilot.confidence:g} % CIs, modified large-sample)"
    yield f"Standard deviations of the difference{level}: {sds}"
    known = {"items": True, "samples": spread.samples > 0, "runs": plan.now.size.runs > 1}
    rows = {f"more {way} alone": of for way, of in plan.ways.items() if known[way]}
    rows |= {"cheapest": plan.cheapest}
    head = ("", "items", "runs", "samples", "answers", "power")
    yield Table(head, [[name, *_cells(of)] for name, of in rows.items()])
    if plan.cheapest is not None and pilot is not None:
        yield _how_sure(plan, ends)


def answer(plan: Plan, pilot: Pilot | None, expected_power: float | None) -> Iterator[str]:
    """What to buy next, and what that shows on average."""
    best = plan.cheapest
    if best is None:
        yield "No number of items, runs and samples that was tried suffices."
        return
    if pilot is None:
        power = f"with probability {best.power:.2f}"
        yield f"{_size(best.size)}: they show a difference of {plan.difference:g} {power}."
        return
    yield f"To buy next: {_bought(plan, best)}."
    if expected_power is not None:
        shown = f"{expected_power:.2f}"
        line = f"Averaged over what the pilot leaves open, that shows it with probability {shown}"
        more = ": a larger pilot, or a higher --power, makes up for it"
        yield f"{line}{'' if float(shown) >= plan.target else more}."


def notes(plan: Plan, runs: tuple[int, int] | None) -> Iterator[str]:
    """What to know of a plan.

    Args:
      runs: of the pilot's two models.
    """
    if runs and len({*runs}) > 1:
        yield (
            f"The models have {runs[0]} and {runs[1]} runs. A design has as many of both, and "
            f"{min(runs)} of each count as there: the probability now may be higher, and less may "
            "have to be bought, than said here."
        )
    if plan.now.size.runs == 1:
        yield "One run of each model: it is taken as fixed, and other runs may differ."
    if plan.cheapest and plan.cheapest.size.items < FEW_CLUSTERS:
        yield f"Fewer than {FEW_CLUSTERS} items tell little of others."


def _size(size: Size) -> str:
    n, r, k = size
    return (
        f"{text.counted(n, 'item')}, {text.counted(r, 'run')} of each model, "
        f"{text.counted(k, 'sample')}"
    )


def _sd(name: str, spread: Spread, pilot: Pilot | None) -> str:
    """With its interval, of a pilot."""
    value = getattr(spread, name) ** 0.5
    if pilot is None:
        return f"{value:.3g}"
    single = {"runs": pilot.size.runs, "items_x_runs": pilot.size.runs}.get(name, 2) == 1
    if single or (name == "samples" and pilot.size.samples == 1):
        return "unknown"
    low, high = (
        0.0 if end is None else getattr(end, name) ** 0.5 for end in (pilot.low, pilot.high)
    )
    return f"{value:.3g} [{low:.3g}, {high:.3g}]"


def _bought(plan: Plan, design: Design) -> str:
    """What is new: 200 items, 1 run of each model."""
    now, size = plan.now.size, design.size
    items, runs, samples = (of - there for of, there in zip(size, now, strict=True))
    new = [text.counted(items, "item")] if items else []
    new += [f"{text.counted(runs, 'run')} of each model"] if runs else []
    new += [f"{samples} more of each answer"] if samples > 0 else []
    answers = f", for {design.answers:,} answers"
    return f"{text.listed(new)}{answers}" if new else "nothing; this is enough"


def _how_sure(plan: Plan, ends: Mapping[str, Plan | None]) -> str:
    """What the ends of the pilot's intervals lead to."""
    said = []
    for name, of in ends.items():
        what = "nothing" if of is None else "nothing that was tried suffices"
        if of is not None and of.cheapest is not None:
            what = _bought(plan, of.cheapest)
        said.append(f"at their {name} ends {what}")
    return f"The pilot leaves open how much: with all spreads {'; '.join(said)}."


def _cells(design: Design | None) -> list[str]:
    if design is None:
        return [*"-----"]
    return [*map(str, design.size), f"{design.answers:,}", f"{design.power:.2f}"]
