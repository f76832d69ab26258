"""Every task's programs under `vmap`, as XLA is given them for GPUs and TPUs; none is at hand."""

import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.population import engine, lanes
from jaxeval.studies import prepared as preparing

S = 5  # lanes; no other size is 5
TAGGER = [
    *("model.layers=[4]", "model.characters.encoder=none", "model.words.trained=false"),
    *("data.dimension=4", "data.train_sentences=60", "data.max_widths=2"),
]
PAIRS = [
    *("task=seq2seq", "data.train=train", "data.dev=dev", "data.test=test"),
    *("data.max_widths=1", "model.embedding=4", "model.hidden=4", "data.target_column=2"),
    "model.encoder_layers=1",
]
TRANSFORMER = ["model.architecture=transformer", "model.heads=2", "model.decoder_layers=1"]
OPINIONS = [
    "task=sentiment",
    "model.words.trained=false",
    "data.source.sentences=600",
    "data.dimension=4",
    "data.max_widths=2",
]
TEXT = ["task=language", "data.window=8", "data.steps_per_epoch=15", "model.hidden=4"]


def _pairs(folder: Path) -> str:
    for part, pairs in (("train", 90), ("dev", 20), ("test", 30)):
        (folder / part).write_text("abcd\tdcba\n" * pairs)
    return f"data.path={folder}"


def _text(folder: Path) -> str:
    for part, lines in (("train", 200), ("valid", 60), ("test", 70)):
        (folder / f"{part}.txt").write_text("the cat sat on the mat .\n" * lines)
    return f"data.path={folder}"


CASES = {
    "tagging": (TAGGER, None, 1),
    "language": (TEXT, _text, 0),  # a text has one shape of row
    "seq2seq": (PAIRS, _pairs, 0),  # a bucket, which is traced in half the time of two
    "transformer": ([*PAIRS, *TRANSFORMER], _pairs, 0),
    "sentiment": (OPINIONS, None, 1),
}
# a target of benchmarks/compile_for.py: the package that compiles for it
COMPILERS = {"h100": "jax_plugins.xla_cuda12", "v5e": "libtpu", "v5e-2x2": "libtpu"}


@pytest.mark.parametrize("task", CASES)
def test_a_step_is_of_one_bucket_and_no_lane_has_a_corpus(task: str, tmp_path: Path) -> None:
    """Dies if a task's program has an operation that a GPU or TPU lacks; if its branch over
    buckets becomes a selection among all of them; if the corpus is given a lane axis; or if a lane
    has integers of 64 bits, of which newer versions of jax warn."""
    changes, data, branches = CASES[task]
    where = [] if data is None else [data(tmp_path)]
    prepared = studies.prepare(studies.read(None, [*changes, *where, "training.batch_size=4"]))
    problem, split = prepared.problem, prepared.problem.split(0)
    who = preparing.member_of(prepared)
    mesh = lanes.make_mesh(jax.devices()[:1])
    in_step = dataclasses.replace(problem.training, lane_mode="vmap")
    programs = engine.build(problem._replace(training=in_step), split, mesh)
    lane = engine.lane_of(problem, who, 0)
    assert all(leaf.dtype.itemsize <= 4 for leaf in jax.tree.leaves(lane))
    state = engine.empty_state(problem, programs.shared, lane, S)
    arguments = engine._arguments(state, engine.stack([lane] * S), np.zeros(S, bool))
    # a lane's own row numbers and tables of its split have one axis beside the lanes'
    shapes = {leaf.shape for leaf in jax.tree.leaves(problem.corpus) if leaf.ndim > 1}
    for name, cases in (("epoch", branches), ("evaluate", 0)):  # a loop a bucket evaluates
        traced = getattr(programs, name).trace(programs.shared, *arguments[name])
        for platform in ("cuda", "tpu"):
            text = traced.lower(lowering_platforms=(platform,)).as_text()
            assert text.count("stablehlo.case") == cases
            for shape in shapes:
                copied = "x".join(map(str, (S, *shape)))
                assert not re.search(rf"tensor<{copied}x[a-z]", text), (name, copied)


@pytest.mark.parametrize("target", COMPILERS)
@pytest.mark.parametrize("case", [[], [*PAIRS, *TRANSFORMER]], ids=["tagging", "transformer"])
def test_a_program_compiles_where_its_compiler_is(
    target: str, case: list[str], tmp_path: Path
) -> None:
    """Dies if XLA cannot compile an epoch for a device, or if devices exchange anything in it."""
    if importlib.util.find_spec(COMPILERS[target].partition(".")[0]) is None:
        pytest.skip(f"no compiler for {target}")
    changes = [*case, _pairs(tmp_path)] if case else TAGGER
    file = Path(__file__).parents[1] / "benchmarks" / "compile_for.py"
    command = [sys.executable, str(file), target, "default", *changes, "--lanes", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2000:]
    assert json.loads(done.stdout)["collectives"] == 0
