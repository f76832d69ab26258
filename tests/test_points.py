"""A width or margin in points where scores are fractions, of verbs that choose: it is refused."""

from pathlib import Path

import pytest

from jaxeval.errors import ConfigError
from tests.verbs import tune

_FRACTIONS = "the scores are fractions; "
_SCORE = """\
import json, sys
open("calls", "a").write(".")
scale, score = float(sys.argv[1]), 0.5 + sum(map(float, sys.argv[2:])) / 1000
print(json.dumps({"f1": scale * score}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a program whose score is near .5 times its first argument."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "score.py").write_text(_SCORE)
    (tmp_path / "space.toml").write_text("[x]\nuniform = [0, 1]\n")
    return tmp_path


def _calls(folder: Path) -> int:
    return len((folder / "calls").read_text())


def test_of_configs_nothing_is_trained(folder: Path) -> None:
    """Dies if a selection or a search trains what its width then makes meaningless."""
    paths = []
    for epochs in (1, 2):
        paths.append(f"{epochs}.toml")
        Path(paths[-1]).write_text(f'name = "{epochs}"\n[training]\nepochs = {epochs}\n')
    Path("space.toml").write_text('[x]\nkey = "training.optimiser.clip_at"\nuniform = [1, 5]\n')
    words = ["1.toml", "--space", "space.toml", "--margin", "1"]
    for more in ([], ["--dry-run"]):
        with pytest.raises(ConfigError, match=f"--margin 1: {_FRACTIONS}1 point is 0.01"):
            tune([*words, *more])
    assert not Path("runs").exists()
