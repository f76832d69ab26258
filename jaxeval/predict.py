"""`jaxeval predict`: predictions of saved models for a file."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxeval import backend, cli, files, parameters, parsers
from jaxeval.errors import ConfigError, DataError
from jaxeval.parameters import Count, Natural, Quiet

if TYPE_CHECKING:
    from jaxeval.results import Runs
    from jaxeval.studies.saved import ModelFile

_CONLLU_COLUMNS = 10


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

    Taggers add a column of tags to CoNLL columns, sequence-to-sequence models a column of outputs
    to lines of sources. Language models score each line. Classifiers write JSON lines of texts,
    targets or pairs with their labels. The training corpus is not needed.

    Args:
      runs: runs folder; in Python also loaded runs, whose models are used.
      input: the file to read, in the format of the models' task; - is stdin.
      output: file to write instead of stdout.
      which: the model with the best dev score; all, a column each; or their vote (language: mean
        of probabilities).
      seed: models of this seed only.
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
    for name, path in (("runs", runs), ("input", input)):
        if not isinstance(path, str | Path):
            raise ConfigError(f"{name}: expected a path, got {type(path).__name__}")
    target = None if output is None else str(output)
    parsers.refuse_unwritable(target, reads=[input], runs=[runs])
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
    if target is None:
        return text
    files.write_out(target, text)
    return ""


def _describe(used: "Sequence[ModelFile]", found: int) -> str:
    """Names the models in the order of their columns."""
    from jaxeval.report import scores
    from jaxeval.runs import metrics

    shown, about = used[:8], used[0].about
    unit = metrics.unit_of(about.metric)
    devs = (scores.shown(each.dev, unit) for _, each in shown)
    names = [f"{path.stem} (dev {dev})" for (path, _), dev in zip(shown, devs, strict=True)]
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
    if len(columns) == _CONLLU_COLUMNS and columns[0][:1].isdigit():
        return ".conllu"
    return ".tsv" if len(columns) > 1 else ""
