"""Describes every model of a cube of scores, compares every pair, and ranks the models.

A study is of whole runs (seeds, splits) on data sets, or of items and runs of tasks.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import Rules, comparisons, datasets, failures, multiple, power, samples, tasks
from jaxeval.stats.comparisons import Families, adjust
from jaxeval.stats.describe import Summary
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.item_comparisons import compare_items
from jaxeval.stats.pairs import Outcome, Pair
from jaxeval.stats.planning import Detectable, detectable
from jaxeval.stats.power import Primary
from jaxeval.stats.samples import Copies, Samples, Unit


class Row(NamedTuple):
    """A model's place on a board."""

    model: str
    mean: Estimate | Summary  # of items, or of whole runs
    rank: int  # by the mean, 1 is the best; equal means share a rank
    low: int  # ends of the simultaneous interval of ranks
    high: int
    groups: tuple[int, ...]  # numbers of the tie groups: models that were not told apart
    beaten: bool  # whether another model was shown to be better


class Board(NamedTuple):
    """Models by their mean, best first."""

    data_set: str | None  # None: the mean over data sets; "": a single nameless one
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    detectable: Detectable | None  # of items


@dataclasses.dataclass(frozen=True, eq=False)
class RunDesign:
    """The design of a study of whole runs."""

    unit: Unit  # of replication
    averaged: tuple[int, int]  # fewest and most scores averaged into one unit
    primary: Primary  # the tests of location on each data set, and what their design can show
    overall_primary: Primary | None
    families: Families
    across: datasets.Across | None
    copies: tuple[Copies, ...]  # models of one run, which are not tested
    collapsed: tuple[str, ...]  # sentences on scores that look like those of failed runs
    samples: Samples = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class ItemDesign:
    """The design of a study of items."""

    data_sets: tuple[tasks.Counts, ...]
    withheld: bool  # whether nothing is shown, because too many scores are missing
    shared_runs: bool  # whether run r of a model is the same network on all data sets
    # why a gate shows nothing, unless missing scores were accepted
    incomplete: tuple[str, ...] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Study:
    """Models compared pair by pair on each data set, and in the mean over all of them.

    Either `run_design` or `item_design` is set.
    """

    pairs: tuple[Pair, ...]  # on each data set, a family of tests
    overall: tuple[Pair, ...]  # in the mean over data sets, another family
    boards: tuple[Board, ...]  # on each data set
    board: Board | None  # in the mean over data sets
    rules: Rules
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    failures: failures.Failures | None  # failed runs, or failed answers; None: there are none
    scores: Scores = dataclasses.field(repr=False)
    run_design: RunDesign | None = None
    item_design: ItemDesign | None = None

    @property
    def main(self) -> Board | None:
        """The board in the mean over data sets, or on the only one; None if there is neither."""
        return self.board or (self.boards[0] if len(self.boards) == 1 else None)

    @property
    def noun(self) -> str:
        """What a data set is called."""
        return "task" if self.item_design else self.scores.noun


def study(
    scores: Scores,
    rules: Rules | None = None,
    unit: Unit | None = None,
    *,
    control: str | None = None,
) -> Study:
    """Describes and compares all models, by the scores of whole runs or of items.

    Args:
      scores: the cube, one array [items, runs, answers] per data set and model.
      rules: level, correction, margin and resampling.
      unit: unit of replication of whole runs; None: as the source's labels imply.
      control: compare all other models with this one only (whole runs).

    Raises:
      DataError: the scores cannot be compared, or not in this way.
      ConfigError: a margin in points for scores that are fractions.
    """
    rules = rules or Rules()
    if not scores.whole:
        return _of_items(scores, rules)
    if rules.margin is not None:
        metrics.refuse_points("margin", rules.margin, scores.stored_unit)
    if control is not None and control not in scores.models:
        raise DataError(f"no control {control!r}; it has {listed(scores.models)}", scores.source)
    return _of_runs(scores, rules, unit, control)


def _of_runs(scores: Scores, rules: Rules, unit: Unit | None, control: str | None) -> Study:
    units, copies = samples.samples(scores, unit).without_copies()
    chosen = comparisons.choose_pairs(scores, units, control, rules.alpha, copies)
    pairs, families = comparisons.compare_runs(chosen, rules, scores)
    across = None
    if len(units.by_data_set) > 1 or units.unit == "dataset":
        across = datasets.across(units, rules, scores.higher_is_better, pairs)
    mean = units.mean_over_data_sets() if across is not None and across.one_scale else None
    of_mean = None
    overall: list[Pair] = []
    board = None
    if mean is not None and control in (None, *mean.by_data_set[""]):
        in_mean = comparisons.choose_pairs(scores, mean, control, rules.alpha)
        found, _ = comparisons.compare_runs(in_mean, rules, scores)
        overall = [dataclasses.replace(pair, data_set=None) for pair in found]
        (means,) = samples.summaries(mean, rules, scores).values()
        board = _make_board(None, scores, means, overall)
        of_mean = power.primary(in_mean, rules)
    each = samples.summaries(units, rules, scores).items()
    primary = power.primary(chosen, rules)
    return Study(
        tuple(pairs),
        tuple(overall),
        tuple(_make_board(data_set, scores, means, pairs) for data_set, means in each),
        board,
        rules,
        notes=scores.notes,
        warnings=(*scores.warnings, *failures.warnings(scores, units, pairs, rules)),
        failures=failures.compare(scores, control, rules.correction),
        scores=scores,
        run_design=RunDesign(
            unit=units.unit,
            averaged=units.averaged,
            primary=primary,
            overall_primary=of_mean,
            families=families,
            across=across,
            copies=copies,
            collapsed=tuple(failures.collapsed(scores, units)),
            samples=units,
        ),
    )


def _of_items(scores: Scores, rules: Rules) -> Study:
    found = tasks.tasks(scores)
    for task in found:
        metrics.refuse_points("margin", rules.margin or 0.0, task.data.stored_unit)
    over, notes = tasks.choose_factors(found, rules.over)
    not_averaged, why_own = tasks.not_averaged(found), tasks.why_own(found)
    incomplete = tasks.reasons(scores, found) if scores.missing == "error" else ()
    withheld = rules.complete and bool(incomplete)
    shared = not why_own
    each_task = [[task] for task in found]
    means, pairs = compare_items(each_task, over, rules, shared, withheld)
    overall = tuple[Pair, ...]()
    board = None
    if len(found) > 1 and not not_averaged:
        (of_mean,), overall = compare_items([found], over, rules, shared, withheld)
        board = _make_board(None, found[0].data, of_mean, overall, rules)
        notes += (why_own,) if why_own and "runs" in over else ()
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = [f"not shown: {'; '.join(incomplete)} ({accepted})"] if withheld else []
    lines = itertools.chain.from_iterable(of.counts.warnings() for of in found)
    complete = tuple(of for of in scores.data_sets if len(of.models) == len(scores.models))
    each = zip(found, means, strict=True)
    return Study(
        pairs,
        overall,
        tuple(_make_board(of.data.name, of.data, mean, pairs, rules) for of, mean in each),
        board,
        rules,
        notes=(*notes, *not_averaged),
        warnings=(*why, *scores.warnings, *scores.notes, *lines),
        failures=failures.compare(dataclasses.replace(scores, data_sets=complete)),
        scores=scores,
        item_design=ItemDesign(
            tuple(of.counts for of in found), withheld, shared and not not_averaged, incomplete
        ),
    )


def _make_board(
    name: str | None,
    scores: Scores | DataSetScores,
    means: Mapping[str, Estimate | Summary],
    pairs: Sequence[Pair],
    rules: Rules | None = None,
) -> Board:
    """Returns the board of one data set, or of the mean over several.

    Args:
      scores: holds the metric and its direction.
      pairs: pairs that are corrected together, some of them on other data sets.
      rules: for items only, whose detectable differences follow from the tests' errors.
    """
    compared = [pair for pair in pairs if pair.data_set == name]
    better = [pair for pair in compared if pair.better]
    apart = tuple(pair.names if pair.better > 0 else pair.names[::-1] for pair in better)
    sign = 1 if scores.higher_is_better else -1
    beaten = {worse for _, worse in apart}
    places = multiple.places({m: sign * mean.value for m, mean in means.items()}, apart)
    rows = tuple(Row(m, means[m], *place, m in beaten) for m, place in places.items())
    found = None
    if rules is not None:
        differences = [pair.difference for pair in compared if pair.difference]
        found = detectable(differences, rules.alpha / len(pairs))
    return Board(name, scores.metric, scores.higher_is_better, rows, found)


def with_pairs(
    study: Study, pairs: Sequence[Pair], overall: Sequence[Pair], apart: int, in_mean: int
) -> Study:
    """Returns a study of whole runs with other verdicts on its pairs, and the boards of these.

    Args:
      apart, in_mean: pairs of earlier looks that each family lacks, as in `comparisons.adjust`.
    """
    design = study.run_design
    assert design is not None

    def again(board: Board, pairs: Sequence[Pair]) -> Board:
        means = {row.model: row.mean for row in board.rows}
        return _make_board(board.data_set, study.scores, means, pairs)

    tests = [pair.tests for pair in pairs if pair.scores]
    tested = [pair.scores for pair in pairs if pair.scores]
    averaged = [pair.scores for pair in overall if pair.scores]
    design = dataclasses.replace(
        design,
        primary=power.primary(tested, study.rules, apart),
        overall_primary=power.primary(averaged, study.rules, in_mean) if overall else None,
        families=adjust(tests, tested, study.rules, apart)[1],
    )
    return dataclasses.replace(
        study,
        pairs=tuple(pairs),
        overall=tuple(overall),
        boards=tuple(again(board, pairs) for board in study.boards),
        board=study.board and again(study.board, overall),
        run_design=design,
    )


def decision(study: Study) -> tuple[Outcome, tuple[str | None, ...]]:
    """Returns a gate's outcome for the first model against the second, over all data sets.

    It is "worse" if the model is worse on any data set or in the mean. It is "better" if it is
    better in the mean or, without a mean, on every data set.

    Returns:
      The outcome and the data sets that decide it; None stands for the mean.
    """
    incomplete = study.item_design is not None and bool(study.item_design.incomplete)
    together, apart = (
        {
            pair.data_set: "not shown" if incomplete else pair.by_margin.outcome
            for pair in found
            if pair.by_margin and pair.names == study.scores.models[:2]
        }
        for found in (study.overall, study.pairs)
    )
    every = {**together, **apart}
    decisive = together or apart
    if worse := tuple(where for where, outcome in every.items() if outcome == "worse"):
        return "worse", worse
    lacking = tuple(where for where, outcome in decisive.items() if outcome != "better")
    return ("not shown", lacking) if lacking else ("better", tuple(decisive))
