"""Saved models: `jaxeval evaluate` scores them again, `jaxeval predict` has their predictions."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import backend, cli, files, parameters
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json
from jaxeval.parameters import Changes, Count, Natural, NonNegative, Quiet, Seeds

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.runs import Evaluation
    from jaxeval.results import Runs
    from jaxeval.studies import saved
    from jaxeval.studies.saved import Condition, ModelFile

_SEEDS = 8  # of a config
_MASKS = 20  # of a mean


@parameters.verb
def evaluate(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    seeds: Seeds | None = None,
    experiment: str | None = None,
    part: Literal["test", "dev"] = "test",
    input: str | Path | None = None,
    streams: Sequence[int | str] = (),
    temperature: str | float | None = None,
    mean: Sequence[str] = (),
    samples: Count | None = None,
    dynamic: NonNegative | None = None,
    quiet: Quiet = False,
) -> "Evaluation":
    """Scores models that were trained with training.save_models=true.

    Language models can also be scored with another softmax temperature (searched on dev), averaged
    over dropout masks, or by dynamic evaluation. `compare` reads the file that --json writes.

    Args:
      seeds: N (seeds 1 to N) or a list such as 3,5,8 (default: 8; with --experiment, all saved).
      experiment: instead of CONFIG: an experiment's name, or 4 or more first digits of its id.
      part: part of the data to score.
      input: file to score instead, in the format of the training data, with labels.
      streams: language: numbers of streams (default: 1, and that of the recorded scores).
      temperature: language: softmax temperature, or search (on dev).
      mean: language: mean over dropout masks: arithmetic, geometric or both.
      samples: language: number of dropout masks (default: 20).
      dynamic: language: learning rate of dynamic evaluation (Krause et al. 2018), such as 0.001.

    Examples:
      jaxeval evaluate CONFIG --data DIR --input FILE       # your own file, with labels
      jaxeval evaluate --out RUNS --experiment 3f2a         # all saved seeds
      jaxeval evaluate CONFIG --data DIR --temperature search --mean arithmetic --samples 200
    """
    others = {"streams": streams, "temperature": temperature, "mean": mean, "dynamic": dynamic}
    if input is not None and part == "dev":
        raise ConfigError(f"{argument('input')}: cannot be combined with {argument('part', part)}")
    if wrong := [each for each in mean if each not in ("arithmetic", "geometric")]:
        expected = "expected arithmetic or geometric"
        raise ConfigError(f"{argument('mean')}: {expected}, got {wrong[0]!r:.60}")
    rows = [int(_number("streams", count, parameters.MOST, whole=True)) for count in streams]
    if temperature is not None and temperature != "search":
        temperature = _number("temperature", temperature, 100)
    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.studies import cohorts, prepared, saved

    source, found = config, parameters.numbers(_SEEDS)
    if experiment is not None:
        source, found = _experiment(Path(out), experiment, config, [*changes])
    whole = studies.read(source, [*changes], data)
    _refuse_unused({**others, "samples": samples}, whole)
    trials = prepared.seeds_by_splits(whole, parameters.numbers(seeds or found))
    (cohort,) = cohorts.by_program(cohorts.entries(trials, studies.Session().loader))
    models = saved.load(cohort, Path(out))
    if input is not None:
        models, told = saved.with_test_file(models, str(input))
        if not quiet:
            observe.say_findings(told.remarks, told.warnings)
    conditions: Iterator[Condition | None] = iter([None])  # as in training
    if whole.task == "language":
        conditions = _conditions(models, rows, temperature, mean, samples or _MASKS, dynamic)
    return _scored(models, conditions, part, str(input or part), quiet)


def _number(name: str, value: str | float, most: float, whole: bool = False) -> float:
    """A number above 0 and below `most`, of a list or beside words."""
    with contextlib.suppress(ValueError):
        number = int(value) if whole else float(value)
        if 0 < number < most:
            return number
    kind = "whole numbers from 1" if whole else "a number above 0, or search"
    raise ConfigError(f"{argument(name)}: expected {kind}, got {value!r:.60}")


def _experiment(
    folder: Path, experiment: str, config: "Source", changes: Sequence[str]
) -> "tuple[Source, list[int]]":
    """The config of an experiment, and the seeds of its saved models."""
    from jaxeval.studies import saved

    if config or changes:
        beside = config or changes[0]
        raise ConfigError(f"{argument('experiment')}: cannot be combined with {beside}")
    found = [of.about for of in saved.choose(folder, experiment) if not of.about.split]
    if len({repr((about.config, about.hparams)) for about in found}) != 1:
        expected = "expected models that differ in their seeds alone, and of the given split"
        raise ConfigError(f"{argument('experiment', experiment)}: {expected}")
    return found[0].config, sorted({about.seed for about in found})


def _refuse_unused(others: Mapping[str, object], config: Any) -> None:
    """Raises ConfigError for an option that would have no effect."""
    from jaxeval.config import fields

    for name, value in others.items():
        if value not in (None, [], ()) and config.task != "language":  # 0 is given
            said = f"for language models only; this config's task is {config.task}"
            raise ConfigError(f"{argument(name)}: {said}")
    if others["samples"] is not None and not others["mean"]:
        raise ConfigError(f"{argument('samples')}: needs {argument('mean')}")
    if others["mean"] and not fields.active(config.model):
        said = "the config has no dropout, so there are no masks to average over"
        raise ConfigError(f"{argument('mean')}: {said}")


def _conditions(
    models: "saved.Models",
    streams: Sequence[int],
    temperature: str | float | None,
    means: Sequence[Any],
    samples: int,
    dynamic: float | None,
) -> "Iterator[Condition | None]":
    """The plain evaluations first; the others in as many streams as the first."""
    from jaxeval.studies import saved
    from jaxeval.tasks.language_evaluation import Averaging

    streams = streams or sorted({1, models.prepared.config.training.evaluation_batch_size})
    for rows in dict.fromkeys(streams):
        yield saved.Condition(rows)
    first = saved.Condition(streams[0])
    if temperature == "search":
        temperature = saved.best_temperature(models, first.rows)
    if temperature is not None:
        yield first._replace(temperature=float(temperature))
    for mean in dict.fromkeys(means):
        yield first._replace(averaging=Averaging(mean, samples))
    if dynamic is not None:
        yield first._replace(dynamic=dynamic)


def _scored(
    models: "saved.Models",
    conditions: "Iterator[Condition | None]",
    part: Literal["test", "dev"],
    shown_part: str,
    quiet: bool,
) -> "Evaluation":
    """Scores the models under each condition: a row a member."""
    from jaxeval.report.runs import Evaluation, condition_line
    from jaxeval.studies import saved

    record, rows = models.prepared.record, list[dict[str, Json]]()
    for condition in conditions:
        named = "as in training" if condition is None else str(condition)
        cli.say(f"{named} ...", quiet)
        scores = saved.scores(models, condition, part)
        rows += [
            {
                "model": f"{record.name}, {named}",
                "condition": named,
                "seed": member.seed,
                "part": shown_part,
                "metric": record.metric,
                "higher_is_better": record.higher_is_better,
                "score": by_metric[record.metric],
            }
            for member, by_metric in zip(models.members, scores, strict=True)
        ]
        cli.say(condition_line(rows, named), quiet or condition is None)
    return Evaluation(rows)


@parameters.verb
def predict(
    runs: "Runs | str | Path",
    *,
    input: str | Path,
    output: str | Path | None = None,
    which: Literal["best", "all", "vote"] = "best",
    experiment: str | None = None,
    seed: Natural | None = None,
    n_best: Count | None = None,
    beam: Count | None = None,
    max_length: Count | None = None,
    whole: bool = False,
    quiet: Quiet = False,
) -> str:
    """Predicts with models that were trained with training.save_models=true.

    Taggers add a column of tags to CoNLL columns. Sequence-to-sequence models add a column of
    outputs to lines of sources. Language models score each line. Classifiers write JSON lines of
    texts, targets or pairs with their labels. The training corpus is not needed.

    Args:
      runs: runs folder; in Python also loaded runs, whose models are used.
      input: the file to read, in the format of the models' task; - is stdin.
      output: file to write instead of stdout.
      which: best: the model with the best dev score. all: one column per model. vote: their
        majority (language: mean of probabilities).
      seed: use only models of this seed.
      n_best: seq2seq: number of hypotheses, written with their log-probabilities.
      beam: seq2seq: beam width, instead of the config's model.beam.
      max_length: seq2seq: maximum number of symbols, instead of the config's data.max_length.
      whole: language: one score for the whole text, instead of one per line.
      quiet: do not name the models on stderr.

    Returns:
      The lines; "" if they are written to a file.

    Examples:
      jaxeval predict RUNS --input FILE               # the model with the best dev score
      jaxeval predict RUNS --which vote --input - < FILE
      jaxeval predict RUNS --input WORDS --n-best 5   # seq2seq: with log-probabilities
    """
    from jaxeval.results import Runs

    members = None
    if isinstance(runs, Runs):
        members = {(row.experiment, row.split, row.seed) for row in runs.rows}
        runs = runs.location
    if not isinstance(runs, str | Path):
        raise ConfigError(f"runs: expected a path, got {type(runs).__name__}")
    target = None if output is None else str(output)
    files.refuse_unwritable(target, reads=[input], runs=[runs])
    backend.prepare()
    from jaxeval.studies import saved
    from jaxeval.tasks.kind import Options

    found = saved.choose(Path(runs), experiment, seed, members)
    used = found[:1] if which == "best" else found
    cli.say(_describe(used, len(found)), quiet)
    with _file(str(input)) as file:
        options = Options(which == "vote", n_best, beam, max_length, whole)
        lines = saved.predictions(used, file, options)
    text = "".join(f"{line}\n" for line in lines)
    if target is not None:
        files.write_out(target, text)
    return text if target is None else ""


def _describe(used: "Sequence[ModelFile]", found: int) -> str:
    """Names the models in the order of their columns."""
    from jaxeval.report import scores
    from jaxeval.runs import metrics

    about, unit = used[0].about, metrics.unit_of(used[0].about.metric)
    names = [f"{path.stem} (dev {scores.shown(each.dev, unit)})" for path, each in used[:8]]
    more = ", ..." if len(used) > len(names) else ""
    count = f"{len(used)} of {found} saved models, by dev {scores.label(about.metric, unit)}"
    return f"{about.name} ({about.experiment}): {', '.join(names)}{more}; {count}"


@contextlib.contextmanager
def _file(name: str) -> Iterator[Path]:
    """A file to read; a copy of stdin, which can be read only once."""
    if name != "-":
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        read = sys.stdin.buffer.read()
        copy = Path(folder) / f"stdin{_suffix(read)}"
        copy.write_bytes(read)
        try:
            yield copy
        except DataError as error:  # the copy's name says nothing
            raise DataError(str(error).replace(str(copy), "stdin")) from None


def _suffix(read: bytes) -> str:
    """The suffix that a file of these bytes would have, as names tell formats."""
    lines = (line for line in read.splitlines() if line.strip() and not line.startswith(b"# "))
    columns = next(lines, b"").split(b"\t")
    if columns[0].startswith(b"{"):
        return ".jsonl"
    if len(columns) == 10 and columns[0][:1].isdigit():
        return ".conllu"
    return ".tsv" if len(columns) > 1 else ""
