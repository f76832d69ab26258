"""Settings as TOML that is read back."""

import importlib
import tomllib
from pathlib import Path

import pytest

from jaxeval import configs, studies
from jaxeval.config import writing

train = importlib.import_module("jaxeval.train")  # of the package, it is the function

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = [p for p in sorted(CONFIGS.glob("*/*.toml")) if not p.stem.startswith("space_")]
CHANGED = [
    ["task=language", "training.plateau=", "model.hidden=null", "training.stopping.targets=[1.5]"],
    ['name="a \\"b\\" = \\\\ # ü \\u007f"', "model.layers=[3,4]", "model.projection=5"],
    ["training.optimiser.name=sgd", "training.optimiser.steps=[[2,1e-8]]"],
    ["task=seq2seq", "training.optimiser.hyperparameters.beta2=0.98"],
]


def _again(config: object, folder: Path) -> object:
    file = folder / "again.toml"
    file.write_text(writing.to_toml(config), encoding="utf-8")
    return studies.read(str(file))


@pytest.mark.parametrize("changes", CHANGED)
def test_a_changed_config_comes_back(changes: list[str], tmp_path: Path) -> None:
    """Dies if an absent key gets its default back, or a text or a number another value."""
    config = studies.read(None, changes)
    assert _again(config, tmp_path) == config


def test_shipped_configs_come_back(tmp_path: Path) -> None:
    """Dies if a table of a task is lost."""
    for path in SHIPPED:
        config = studies.read(str(path))
        assert _again(config, tmp_path) == config, path


def test_a_dry_run_prints_a_config(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if what is printed is not TOML, or names another experiment."""
    words = ["data.train_sentences=30", "model.layers=[7]", "training.optimiser.name=adam"]
    assert train.main([*words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    file = tmp_path / "again.toml"
    file.write_text(shown)
    assert tomllib.loads(shown)["model"]["layers"] == [7] and "# parameters: " in shown
    ids = [
        studies.prepare(studies.read(path, changes)).record.id
        for path, changes in ((None, words), (str(file), []))
    ]
    assert ids[0] == ids[1] and f"# experiment: {ids[0]}" in shown


def test_all_choices_are_listed_in_a_pipe(capsys: pytest.CaptureFixture) -> None:
    """Dies if the columns of a narrow pipe cut the choices of a key."""
    assert configs.main(["keys"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("training.optimiser.name")]
    assert "sgd|adagrad|adadelta|rmsprop|adam|nadam|tf_adam" in line and '"nadam"' in line
    assert sum(line.startswith(("model.", "data.", "training.")) for line in lines) > 40
