"""Members with different vector files in one program: each is what it would be alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval import observe, runs, studies
from jaxeval.data import generated
from jaxeval.studies import cohorts, jobs, prepared, recording
from tests.data.test_word_tables import vectors

QUICK = [
    *("data.max_widths=1", "training.epochs=2", "data.without_vector=mean"),
    *("training.evaluation_batch_size=64", "training.optimiser.clip=none"),
    *("task=sentiment", "model.architecture=bag", "data.source.sentences=40"),
    *("training.batch_size=16", "training.optimiser.l2=0.1"),
    'training.optimiser.l2_parameters=["words"]',
]


def _configs(folder: Path, *changes: str) -> list[Any]:
    """A config with each of two files that cover different words of the texts."""
    tokens = [word for each in generated.texts(1, 40)["train"] for word in each.text.split()]
    known = sorted({*tokens}, key=lambda word: (-tokens.count(word), word))
    files = [
        vectors(folder / "a.txt", [*known[:20], "zyzzyva"], 1, 5),
        vectors(folder / "b.txt", known[8:19], 2, 5),
    ]
    return [studies.read(None, [*QUICK, *changes, f"data.vectors={file}"]) for file in files]


def _trials(configs: list[Any]) -> list[studies.Trial]:
    return [trial for config in configs for trial in prepared.seeds_by_splits(config, [1, 2])]


def _scores(folder: Path) -> dict[tuple[str, int], list[float | None]]:
    """All scores of each member, epoch by epoch, losses among them."""
    known: dict[tuple[str, int], list[float | None]] = {}
    for point in runs.load_curves(folder):
        known.setdefault((point.experiment, point.seed), []).append(point.value)
    return known


TRAINED = ["model.words.trained=true"]
FROZEN = ["model.words.trained=false", "training.optimiser.l2_parameters=[]"]


@pytest.mark.parametrize("changes", [TRAINED, FROZEN], ids=["trained", "frozen"])
def test_a_member_scores_as_with_its_file_alone(changes: list[str], tmp_path: Path) -> None:
    """Dies if a member reads or begins with another's vectors, padding is read or trained into
    anything, a draw depends on the size of the padded table, or an id is another: bit for bit.

    Rows that are updated alone, under which windows train: tests/test_judge.py.
    """
    configs = _configs(tmp_path, *changes)
    planned = cohorts.by_program(cohorts.entries(_trials(configs), prepared.Loader()))
    assert len(planned) == 1 and len(planned[0].members) == 4
    rows = {len(entry.prepared.data.table.vectors) for entry in planned[0].entries}
    assert len(rows) == 2  # one of the tables is padded
    observe.train_cohorts(planned, tmp_path / "both", quiet=True)
    # its table is padded; a program for the first one's costs most of a second and more
    observe.train(_trials(configs[1:]), tmp_path / "alone", quiet=True)
    together, alone = (_scores(tmp_path / name) for name in ("both", "alone"))
    assert {member: together[member] for member in alone} == alone
    assert (len(together), len(alone)) == (4, 2)
    losses = {tuple(values) for values in together.values()}
    assert len(losses) == 4  # the files tell


def test_saved_models_share_no_program(tmp_path: Path) -> None:
    """Dies if a model is saved with the rows of a table that was padded for another file."""
    configs = _configs(tmp_path, "training.save_models=true")
    assert len(cohorts.by_program(cohorts.entries(_trials(configs), prepared.Loader()))) == 2


def test_a_job_holds_what_it_trains(tmp_path: Path) -> None:
    """Dies if the file of a job grows with those of other jobs, or lacks what decides its program:
    the first trial of its cohort, and one of each file of vectors."""
    configs, seeds = _configs(tmp_path), (1, 2, 3)
    trials = [trial for of in configs for trial in prepared.seeds_by_splits(of, seeds)]
    (whole,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    assert len({who.vectors for who in whole.members}) == 2
    with runs.open_store(tmp_path) as store:
        for job in jobs.cut([whole], 2):
            job.write(job.part.entries, recording.Storage(store, tmp_path, False))
            tree, part = json.loads(job.path.read_text()), job.part
            assert len(tree["trials"]) == len(tree["program_of"]) == 2
            again = jobs._rebuilt(tree, studies.Session())
            assert [e.key for e in again.entries] == [e.key for e in part.entries]
            assert (again.members, again.program) == (part.members, part.program)
            assert again.config == part.config
