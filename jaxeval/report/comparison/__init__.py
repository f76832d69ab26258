"""The result of `compare`: a study of whole runs, or of items.

Its ledger counts how often scores were looked at while they grew.
"""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval import files, stats
from jaxeval.errors import ConfigError, argument, parsing
from jaxeval.files import Json
from jaxeval.report import Block, Document, Heading, Result, Table, text, to_json, to_json_object
from jaxeval.report.comparison import answers, claims, figures, tables, words
from jaxeval.runs.scores import OVERLAPPING
from jaxeval.stats import comparisons, on, power
from jaxeval.stats.pairs import Pair
from jaxeval.stats.single_models import SingleModels
from jaxeval.stats.study import RunDesign, Study, decision, with_pairs

_GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is bad input
_MANY = 10  # comparisons
# fields of the scores of runs that stand in the JSON
_SCORES = ("higher_is_better", "direction", "missing", "unusable", "statuses")
_OTHERS = (
    "tests of spread of these pairs, of failed runs, over items and over data sets hold for a "
    "single look: they claim nothing now"
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
        study, details, last = self.study, list[Block](), list[str]()
        title, noun, paper = "Leaderboard:", "file", list[Table]()
        notes = [*study.notes, *study.warnings]
        if study.item_design:
            details, notes = [*_item_details(study)], [*notes, *_warnings(study)]
            if self.gate:
                last = [f"gate: {answers.outcome(study)} (exit code {self.exit_code})"]
        elif study.run_design:
            title, noun, paper = "Comparison of", "model", tables.for_paper(study)
            details = [*self._run_details(study, study.run_design)]
            notes += _fewer_comparisons(study)
        alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
        facts = [study.scores.source, *words.directions(study), words.basis(study)]
        return Document(
            answer=answers.answer(study, self.items),
            blocks=[
                *tables.shown(study),
                " | ".join(facts),
                *([words.tests(study) + alone] if study.pairs else []),
            ],
            notes=notes,
            details=details,
            paper=paper,
            figures=lambda: figures.draw(study),
            title=f"{title} {text.joined(study.scores.models)}",
            signature=words.signature(study),
            noun=noun,
            last=last,
        )

    def to_dict(self) -> dict[str, Json]:
        """Returns the study and the answer; of runs also the source of the scores."""
        study, about = self.study, to_json_object(self.study)
        run_design, item_design = about.pop("run_design"), about.pop("item_design")
        about |= {"source": study.scores.source, "signature": words.signature(study)}
        about |= {"answer": answers.answer(study, self.items)}
        if isinstance(item_design, dict):
            said = answers.outcome(study) if self.outcome else None
            about |= {"models": [*study.scores.models], **item_design}
            return about | {"outcome": self.outcome, "outcome_text": said}
        described = [
            {"model": model, "data_set": data_set, "summary": to_json(summary)}
            for data_set, model, summary in words.described(study)
        ]
        about |= {name: to_json(getattr(study.scores, name)) for name in _SCORES}
        about |= {"metric": study.scores.metric or None, "models": described}
        about |= {"metric_unit": words.score_format(study).unit, "single": to_json(self.single)}
        about |= run_design if isinstance(run_design, dict) else {}
        about |= {"items": Comparison(self.items).to_dict() if self.items else None}
        return {name: of for name, of in about.items() if name not in ("board", "boards")}

    def _run_details(self, study: Study, run_design: RunDesign) -> Iterator[Block]:
        if run_design.across is not None:
            yield Heading(f"All {study.noun}s together")
            yield from claims.over_data_sets(study, run_design.across)
            yield from tables.across(study, run_design.across)
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
            yield from (claims.verdict(pair, self.items) for pair in self.items.pairs)


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
        yield from [f"In this design {seen}."] if seen else []
    yield tables.differences(study)
    yield from _pairs(study)


def _fewer_comparisons(study: Study) -> list[str]:
    """Says how a baseline lowers the number of comparisons, if these are many and show nothing."""
    if len(study.pairs) < _MANY or any(pair.shown for pair in study.pairs):
        return []
    of_model = Counter(model for pair in study.pairs for model in pair.names)
    if (most := max(of_model.values())) == len(study.pairs):
        return []
    flag = argument("control", "MODEL")
    return [f"a baseline chosen before scores were seen needs only {most} comparisons: {flag}"]


def _pairs(study: Study) -> Iterator[Block]:
    for pair in (*study.overall, *study.pairs):
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
    families = [[pair for pair in of if pair.scores] for of in (study.pairs, study.overall)]
    if any(pair.scores and pair.scores.overlap for of in families for pair in of):
        raise ConfigError(f"{argument('ledger', path)}: {OVERLAPPING}")
    busy, looked = f"{path}: another process works with this ledger", dict[str, _Entry]()
    with files.locked(files.lock_of(path, "ledger"), busy):
        seen = _seen(path)
        for of in families:
            looked |= _looks(of, seen)
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    if not looked:
        return study
    pairs, overall = (_judged(of, looked, study) for of in families)
    study = with_pairs(study, pairs, overall, *(_left_out(of, looked) for of in families))
    lines = [line for of in families for line in _earlier(of, looked, seen)]
    if grown := [pair for pair in (*pairs, *overall) if pair.looks > 1]:
        study = _without_other_tests(study)
        lines += *(_warning(pair, looked[_key(pair)].tests) for pair in grown), _OTHERS
    return dataclasses.replace(study, warnings=(*study.warnings, *lines))


def _key(pair: Pair) -> str:
    """Names a pair, also if its table has another name later."""
    return _AND.join([*filter(None, (pair.data_set, pair.metric)), *sorted(pair.names)])


def _looks(of: Sequence[Pair], seen: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Returns the entries of a family after this look, which counts where it sees other scores."""
    known = {_key(pair): seen.get(_key(pair), _Entry("", 0, 0)) for pair in of}
    tests = len(known.keys() | _family(of, seen))
    tests, found = max([tests, *(last.tests for last in known.values())]), {}
    for pair, (key, last) in zip(of, known.items(), strict=True):
        assert pair.scores is not None
        models = sorted(zip(pair.names, (pair.scores.first, pair.scores.second), strict=True))
        dumped = json.dumps([sorted(map(float, scores)) for _, scores in models])
        scores = hashlib.sha256(dumped.encode()).hexdigest()[:16]  # whatever their order
        found[key] = _Entry(scores, last.looks + (scores != last.scores), tests)
    return found


def _family(of: Sequence[Pair], seen: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Returns the entries of one kind with these pairs, on data sets or in the mean over them."""
    parts = {_key(pair).count(_AND) for pair in of}
    return {key: last for key, last in seen.items() if key.count(_AND) in parts}


def _earlier(
    of: Sequence[Pair], looked: Mapping[str, _Entry], seen: Mapping[str, _Entry]
) -> Iterator[str]:
    """Says what candidates that were compared one after the other lack."""
    others = [last for key, last in _family(of, seen).items() if key not in looked]
    tests = looked[_key(of[0])].tests if of else 0
    if any(last.tests < tests for last in others):
        together = f"compare all models in one table, with {argument('control', 'BASE')}"
        yield (
            f"corrected over {tests} comparisons, {len(others)} of them of earlier looks, whose "
            f"claims were corrected over fewer: to see which still hold, {together}"
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


def _left_out(of: Sequence[Pair], looked: Mapping[str, _Entry]) -> int:
    """The number of comparisons of earlier looks that a family lacks now."""
    return looked[_key(of[0])].tests - len(of) if of else 0


def _judged(of: Sequence[Pair], looked: Mapping[str, _Entry], study: Study) -> Sequence[Pair]:
    """Returns a family of pairs with verdicts that hold after their looks."""
    left_out, scores = _left_out(of, looked), [pair.scores for pair in of if pair.scores]
    looks = [looked[_key(pair)].looks for pair in of]
    if not left_out and {*looks} <= {1}:
        return of
    ranks = power.by_ranks(scores, study.rules.alpha, left_out)
    scores = [
        dataclasses.replace(runs, looks=n, by_ranks=ranks and n == 1)
        for runs, n in zip(scores, looks, strict=True)
    ]
    found, _ = comparisons.compare_runs(scores, study.rules, study.scores, left_out)
    sets = (pair.data_set for pair in of)  # None: the mean
    return [dataclasses.replace(pair, data_set=on) for pair, on in zip(found, sets, strict=True)]


def _warning(pair: Pair, tests: int) -> str:
    among = f" (corrected over {tests} comparisons)" if tests > 1 else ""
    where = " in the mean over data sets" if pair.data_set is None else stats.on(pair.data_set)
    no = f"looked at {pair.looks} times: the fixed-n p-value and the CI no longer hold"
    return f"{pair.a}, {pair.b}{where}: {no}; anytime p {text.p_value(pair.p_adjusted)}{among}"


def _seen(path: Path) -> dict[str, _Entry]:
    if not path.exists():
        return {}
    with parsing("not a ledger of comparisons", path, error=ConfigError, passing=(MemoryError,)):
        known = json.loads(path.read_text(encoding="utf-8"))
        each = known.items()
        return {key: _Entry(str(scores), int(n), int(m)) for key, (scores, n, m) in each}
