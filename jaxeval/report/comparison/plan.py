"""How many items, answers and runs show a difference: sentences and a table."""

from collections.abc import Iterator, Mapping

from jaxeval.report import text
from jaxeval.report.document import Document, Table
from jaxeval.stats.items.estimates import FEW_CLUSTERS
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.items.planning import Design, Plan


def document(
    plan: Plan,
    spread: Spread,
    pilot: Pilot | None,
    ends: Mapping[str, Plan | None],
    expected_power: float | None,
    notes: list[str],
) -> Document:
    """What to buy next, what that shows, and what the pilot leaves open.

    Args:
      ends: "low" and "high": the plans if all variances were those at an end of their intervals.
      expected_power: averaged over what the pilot leaves open.
    """
    best, now, blocks = plan.cheapest, plan.now, []
    if pilot is not None:
        power = f"it shows a difference of {plan.difference:g} with probability {now.power:.2f}"
        blocks.append(f"The pilot: {_size(now.size)}; {power}.")
    sds = ", ".join(f"{of.replace('_', ' ')} {_sd(of, spread, pilot)}" for of in spread.variances)
    level = "" if pilot is None else f" ({100 * pilot.confidence:g} % CIs, modified large-sample)"
    blocks.append(f"Standard deviations of the difference{level}: {sds}")
    known = {"items": True, "samples": spread.samples > 0, "runs": now.size.runs > 1}
    rows = {f"more {way} alone": of for way, of in plan.ways.items() if known[way]}
    head = ("", "items", "runs", "samples", "answers", "power")
    cells = [[name, *_cells(of)] for name, of in (rows | {"cheapest": best}).items()]
    how_sure = [_how_sure(plan, ends)] if best is not None and pilot is not None else []
    return Document(
        [*_answer(plan, pilot, expected_power)],
        [*blocks, Table(head, cells), *how_sure],
        [*_notes(plan), *notes],
        title="Plan",
    )


def _answer(plan: Plan, pilot: Pilot | None, expected_power: float | None) -> Iterator[str]:
    best = plan.cheapest
    if best is None:
        yield "No number of items, runs and samples that was tried suffices."
    elif pilot is None:
        power = f"with probability {best.power:.2f}"
        yield f"{_size(best.size)}: they show a difference of {plan.difference:g} {power}."
    else:
        yield f"To buy next: {_bought(plan, best)}."
        if expected_power is not None:
            more = ": a larger pilot, or a higher --power, makes up for it"
            more = "" if round(expected_power, 2) >= plan.target else more
            average = "Averaged over what the pilot leaves open, that shows it with probability"
            yield f"{average} {expected_power:.2f}{more}."


def _notes(plan: Plan) -> Iterator[str]:
    if plan.now.size.runs == 1:
        yield "One run of each model: it is taken as fixed, and other runs may differ."
    if plan.cheapest and plan.cheapest.size.items < FEW_CLUSTERS:
        yield f"Fewer than {FEW_CLUSTERS} items tell little of others."


def _size(size: Size) -> str:
    runs = f"{text.counted(size.runs, 'run')} of each model"
    return f"{text.counted(size.items, 'item')}, {runs}, {text.counted(size.samples, 'sample')}"


def _sd(name: str, spread: Spread, pilot: Pilot | None) -> str:
    """With its interval, of a pilot."""
    value = getattr(spread, name) ** 0.5
    if pilot is None:
        return f"{value:.3g}"
    single = {"runs": pilot.size.runs, "items_x_runs": pilot.size.runs}.get(name, 2) == 1
    if single or (name == "samples" and pilot.size.samples == 1):
        return "unknown"
    ends = ((0.0 if of is None else getattr(of, name) ** 0.5) for of in (pilot.low, pilot.high))
    return f"{value:.3g} [{', '.join(f'{end:.3g}' for end in ends)}]"


def _bought(plan: Plan, design: Design) -> str:
    """What is new: 200 items, 1 run of each model."""
    items, runs, samples = (
        of - there for of, there in zip(design.size, plan.now.size, strict=True)
    )
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
