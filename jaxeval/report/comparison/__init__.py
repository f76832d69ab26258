"""The result of `compare`: a study of whole runs, or of items.

Its ledger counts how often scores were looked at while they grew.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError, argument, parsing
from jaxeval.files import Json
from jaxeval.report import Block, Document, Heading, Result, text, to_json
from jaxeval.report.comparison import answers, claims, figures, tables, words
from jaxeval.runs.scores import OVERLAPPING
from jaxeval.stats import comparisons, on, power
from jaxeval.stats.pairs import Pair
from jaxeval.stats.single_models import SingleModels
from jaxeval.stats.study import Study, decision, with_pairs

_GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is bad input
_MOST_IN_DETAIL, _MOST_IN_JSON = 200, 2_000  # pairs with all their tests
# fields of the scores of runs that stand in the JSON
_SCORES = ("higher_is_better", "direction", "missing", "unusable", "statuses")
_OTHERS = (
    "tests of these pairs' spread, of failed runs, over items and over data sets hold for a "
    "single look only: they claim nothing now"
)
_AND = " | "  # between the parts of a key


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models compared pair by pair, by the scores of their runs or item by item."""

    study: Study
    gate: bool = False  # over items: the exit code is the outcome
    single: SingleModels | None = None  # tests on the items of one trained model of each method
    items: Study | None = None  # of whole runs, all runs item by item

    @property
    def outcome(self) -> str | None:
        """Over items, a gate's outcome for the first of two models: better, worse or not shown."""
        if self.study.run_design or len(self.study.scores.models) != 2:
            return None
        return decision(self.study)[0]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of a gate, else 0."""
        return _GATE[self.outcome or "better"] if self.gate else 0

    def document(self) -> Document:
        """Returns the best model, by how much, and the tests."""
        study = self.study
        by_runs = study.run_design is not None
        gate = f"gate: {answers.outcome(study)} (exit code {self.exit_code})" if self.gate else ""
        further = words.fewer_comparisons(study) if by_runs else _warnings(study)
        alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
        facts = [study.scores.source, *words.directions(study), words.basis(study)]
        title = "Comparison of" if by_runs else "Leaderboard:"
        return Document(
            answer=answers.answer(study, self.items),
            blocks=[
                *tables.shown(study),
                " | ".join(facts),
                *([words.tests(study) + alone] if study.pairs else []),
            ],
            notes=[*study.notes, *study.warnings, *further],
            details=self.details,
            paper=(lambda: tables.for_paper(study)) if by_runs else None,
            figures=lambda: figures.draw(study),
            title=f"{title} {text.joined(study.scores.models)}",
            signature=words.signature(study),
            noun="model" if by_runs else "file",
            last=[gate] if gate else (),
        )

    def to_dict(self) -> dict[str, Json]:
        """Returns the study and the answer; of runs also the source of the scores."""
        study, (full, note) = self.study, _in_full(self.study, _MOST_IN_JSON)
        shown = {*full}
        none: dict = {"tests": {}, "adjusted": {}, "effects": {}, "planned": None}
        pairs, overall = (
            tuple(pair if pair in shown else dataclasses.replace(pair, **none) for pair in found)
            for found in (study.pairs, study.overall)
        )
        notes = (*study.notes, *note)
        about = to_json(dataclasses.replace(study, pairs=pairs, overall=overall, notes=notes))
        run_design, item_design = about.pop("run_design"), about.pop("item_design")
        about |= {"source": study.scores.source, "signature": words.signature(study)}
        about |= {"answer": answers.answer(study, self.items)}
        if item_design:
            said = answers.outcome(study) if self.outcome else None
            about |= {"models": [*study.scores.models], **item_design}
            return about | {"outcome": self.outcome, "outcome_text": said}
        every = words.described(study)
        described = [{"model": m, "data_set": on, "summary": summary} for on, m, summary in every]
        about |= {name: getattr(study.scores, name) for name in _SCORES}
        about |= {"metric": study.scores.metric or None, "models": described}
        about |= {"metric_unit": words.score_format(study).unit, "single": self.single}
        about |= run_design or {}
        about |= {"items": Comparison(self.items).to_dict() if self.items else None}
        return to_json({name: of for name, of in about.items() if name not in ("board", "boards")})

    def details(self) -> Iterator[Block]:
        """Yields all that was computed, pair by pair."""
        study = self.study
        if study.run_design is None:
            yield from _item_details(study)
            return
        if (across := study.run_design.across) is not None:
            yield Heading(f"All {study.noun}s together")
            yield from claims.over_data_sets(study, across)
            yield from tables.across(study, across)
        ended = study.scores.statuses.items()
        yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
        yield tables.models(study)
        yield from _pairs(study)
        if self.single is not None and (self.single.pairs or self.single.notes):
            yield Heading("Single trained models, item by item")
            yield from (claims.single_models(pair, study) for pair in self.single.pairs)
            yield from self.single.notes
        if self.items is not None:
            yield Heading("All runs, item by item")
            yield from dict.fromkeys([*self.items.warnings, *_warnings(self.items)])
            yield tables.differences(self.items)
            for pair in self.items.pairs:
                scale = words.score_format(self.items, pair.data_set)
                yield claims.verdict(pair, self.items, scale)


def _warnings(study: Study) -> Iterator[str]:
    """Yields each warning of the pairs once, with its tasks unless it is about all."""
    tasks: dict[str, dict[str, None]] = {}
    for pair in study.pairs:
        for line in pair.difference.warnings if pair.difference else ():
            tasks.setdefault(line, {})[pair.data_set or "scores"] = None
    for line, named in tasks.items():
        yield line if len(named) == len(study.boards) else f"{text.listed([*named])}: {line}"


def _item_details(study: Study) -> Iterator[Block]:
    for board in [*([study.board] if study.board else []), *study.boards]:
        yield Heading(tables.title(board))
        yield tables.leaderboard(board, study)
        seen = claims.detectable_on(board, study).removeprefix("; ")
        yield from [f"With this design {seen}."] if seen else []
    yield tables.differences(study)
    yield from _pairs(study)


def _in_full(study: Study, most: int) -> tuple[list[Pair], list[str]]:
    """Returns the pairs to show with all their tests, and a sentence if these are not all."""
    every = [*study.overall, *study.pairs]
    if len(every) <= most:
        return every, []
    best = tables.best(study)
    full = [pair for pair in every if best in pair.names]
    with_best = f"of {len(every):,} pairs, the {len(full):,} with {best} are shown with all tests"
    return full, [f"{with_best}; to see others, name their models"]


def _pairs(study: Study) -> Iterator[Block]:
    full, note = _in_full(study, _MOST_IN_DETAIL)
    yield from note
    for pair in full:
        where = words.in_mean(study) if pair.data_set is None else on(pair.data_set)
        yield Heading(f"{pair.a} against {pair.b}{where}")
        yield from claims.about(pair, study)
        yield from [tables.tests(pair)] if pair.tests else []


class _Entry(NamedTuple):
    """What the ledger knows of two models on a data set."""

    scores: str  # hash of those seen last
    looks: int
    tests: int  # comparisons of its family in the ledger, by its last look


def with_looks(study: Study, path: Path) -> Study:
    """Returns the study; pairs that grew between looks are judged by tests that hold at any look.

    Pairs that did not grow keep their tests: all p-values are valid at every look, and corrected
    together with the pairs of earlier looks that are left out now.

    Args:
      path: file of hashes of the scores seen last, and of numbers of looks.

    Raises:
      ConfigError: it is another kind of file.
      RunError: it cannot be written, or another process works with it.
    """
    if any(pair.scores and pair.scores.overlap for pair in (*study.pairs, *study.overall)):
        raise ConfigError(f"{argument('ledger', path)}: {OVERLAPPING}")
    busy = f"{path}: another process works with this ledger"
    with files.locked(files.lock_of(path, "ledger"), busy):
        seen = _seen(path)
        families = [_Family(of, seen) for of in (study.pairs, study.overall)]
        looked = families[0].looked | families[1].looked
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    if not looked:
        return study
    pairs, overall = (of.judged(study) for of in families)
    study = with_pairs(study, pairs, overall, *(of.left_out for of in families))
    lines = [line for of in families for line in of.earlier()]
    if grown := [pair for pair in (*pairs, *overall) if pair.looks > 1]:
        study = _without_other_tests(study)
        lines += *(_warning(pair, looked[_key(pair)].tests) for pair in grown), _OTHERS
    return dataclasses.replace(study, warnings=(*study.warnings, *lines))


def _seen(path: Path) -> dict[str, _Entry]:
    if not path.exists():
        return {}
    with parsing("not a ledger of comparisons", path, error=ConfigError, passing=(MemoryError,)):
        known = json.loads(path.read_text(encoding="utf-8"))
        each = known.items()
        return {key: _Entry(str(scores), int(n), int(m)) for key, (scores, n, m) in each}


def _key(pair: Pair) -> str:
    """Names a pair, also if its table has another name later."""
    return _AND.join([*filter(None, (pair.data_set, pair.metric)), *sorted(pair.names)])


class _Family:
    """Pairs of one kind, on data sets or in the mean over them, after this look."""

    def __init__(self, pairs: Sequence[Pair], seen: Mapping[str, _Entry]):
        self._pairs = [pair for pair in pairs if pair.scores]
        known = {_key(pair): seen.get(_key(pair), _Entry("", 0, 0)) for pair in self._pairs}
        parts = {key.count(_AND) for key in known}
        others = seen.keys() - known
        self._others = [seen[key] for key in others if key.count(_AND) in parts]  # earlier looks
        self._tests = max(
            [len(known) + len(self._others), *(last.tests for last in known.values())]
        )
        self.looked: dict[str, _Entry] = {}
        for pair, (key, last) in zip(self._pairs, known.items(), strict=True):
            assert pair.scores is not None
            models = sorted(zip(pair.names, (pair.scores.first, pair.scores.second), strict=True))
            dumped = json.dumps([sorted(map(float, scores)) for _, scores in models])
            scores = hashlib.sha256(dumped.encode()).hexdigest()[:16]  # whatever their order
            looks = last.looks + (scores != last.scores)  # a look sees other scores
            self.looked[key] = _Entry(scores, looks, self._tests)

    @property
    def left_out(self) -> int:
        """The number of comparisons of earlier looks that are not there now."""
        return self._tests - len(self._pairs)

    def judged(self, study: Study) -> Sequence[Pair]:
        """Returns the pairs with verdicts that hold after their looks."""
        looks = [entry.looks for entry in self.looked.values()]
        if not self.left_out and {*looks} <= {1}:
            return self._pairs
        scores = [pair.scores for pair in self._pairs if pair.scores]
        ranks = power.by_ranks(scores, study.rules.alpha, self.left_out)
        scores = [
            dataclasses.replace(runs, looks=n, by_ranks=ranks and n == 1)
            for runs, n in zip(scores, looks, strict=True)
        ]
        found, _ = comparisons.compare_runs(scores, study.rules, study.scores, self.left_out)
        both = zip(found, self._pairs, strict=True)  # of the mean, found has no data set
        return [dataclasses.replace(pair, data_set=old.data_set) for pair, old in both]

    def earlier(self) -> Iterator[str]:
        """Says what candidates that were compared one after the other lack."""
        if any(last.tests < self._tests for last in self._others):
            yield (
                f"corrected over {self._tests} comparisons, {len(self._others)} of them from "
                "earlier looks, whose claims were corrected over fewer; to see which still hold, "
                f"compare all models in one table with {argument('control', 'BASE')}"
            )


def _without_other_tests(study: Study) -> Study:
    """Leaves out the tests of failed runs and over data sets."""
    design, failed = study.run_design, study.failures
    assert design is not None
    if (across := design.across) is not None:
        across = dataclasses.replace(across, ranking=None, signed_rank=None)
    return dataclasses.replace(
        study,
        run_design=dataclasses.replace(design, across=across),
        failures=failed and dataclasses.replace(failed, tests=()),
    )


def _warning(pair: Pair, tests: int) -> str:
    among = f" (corrected over {tests} comparisons)" if tests > 1 else ""
    where = " in the mean over data sets" if pair.data_set is None else on(pair.data_set)
    no = f"looked at {pair.looks} times: the fixed-n p-value and the CI no longer hold"
    return f"{pair.a}, {pair.b}{where}: {no}; anytime p {text.p_value(pair.p_adjusted)}{among}"
