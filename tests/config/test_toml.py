"""Configs that come with jaxeval: by name, from any folder, installed or not."""

import json
import tomllib
from pathlib import Path

import pytest

from jaxeval import space, studies
from jaxeval.config import fields, reading
from jaxeval.configs import configs as shipped
from jaxeval.errors import ConfigError
from tests.verbs import configs

ROOT = Path(__file__).parents[2]
NAME = "reimers2017/wnut17_ner"


def test_names_are_known_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a shipped name depends on where one is, or wins over a file that exists."""
    monkeypatch.chdir(tmp_path)
    assert reading.read_text(NAME) == (ROOT / "configs" / f"{NAME}.toml").read_text()
    assert studies.read(NAME).name == "wnut17_ner"
    (tmp_path / "reimers2017").mkdir()
    (tmp_path / NAME).write_text('name = "mine"')
    assert studies.read(NAME).name == "mine"


def test_all_are_listed_and_read(tmp_path: Path) -> None:
    """Dies if a file of configs/ has no name, or is none of config, space and variants;
    or a config that is written differs from what was read."""
    files = {p.relative_to(ROOT / "configs") for p in (ROOT / "configs").rglob("*.toml")}
    assert {Path(f"{name}.toml") for name in reading.shipped_names()} == files and len(files) > 40
    readers = {"CONFIG": studies.read, "--space": space.load, "--variants": reading.read_toml}
    for name, use in ((entry.name, entry.use) for entry in shipped().configs):
        read = readers[use](name)
        first = reading.read_text(name).splitlines()[0]  # which the list shows
        assert first.startswith("# ") and first.endswith(".") and len(first) < 100, name
        if name.startswith(("baselines/", "melis2018/wiki")) and hasattr(read, "training"):
            (tmp_path / "again.toml").write_text(fields.to_toml(read))
            assert studies.read(tmp_path / "again.toml") == read, name


@pytest.mark.parametrize("wrong", ["reimers2017/wnut17", f"configs/{NAME}.toml", f"{NAME}.toml"])
def test_a_wrong_name_is_told_the_nearest(wrong: str, tmp_path: Path) -> None:
    """Dies if someone who almost knows a name must look it up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        with pytest.raises(ConfigError, match=f"no such config file; did you mean {NAME}"):
            reading.read_toml(wrong)
        with pytest.raises(ConfigError, match="`jaxeval configs` lists the shipped ones"):
            reading.read_toml("qqqqqq.toml")
        with pytest.raises(ConfigError, match=r"cannot be read as a text file.*; --data names"):
            reading.read_toml(tmp_path)


def test_an_installed_wheel_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the wheel puts the files elsewhere than they are looked for."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    target = build["targets"]["wheel"]["force-include"]["configs"]
    installed = tmp_path / target
    installed.mkdir(parents=True)
    monkeypatch.setattr(reading, "_PACKAGE", tmp_path / "jaxeval")
    assert reading._shipped_folder() == installed


def test_the_verb_lists_and_prints(capsys: pytest.CaptureFixture) -> None:
    """Dies if a file is missing in the list, or printed otherwise than it is."""
    assert configs([]) == 0
    shown = capsys.readouterr().out
    assert {line.split()[0] for line in shown.splitlines() if "/" in line} >= {
        *reading.shipped_names()
    }
    (line,) = [line for line in shown.splitlines() if line.startswith("melis2018/ablations/small")]
    assert "--variants" in line and "Table 4" in line
    assert configs([NAME]) == 0
    assert capsys.readouterr().out == (ROOT / "configs" / f"{NAME}.toml").read_text()
    with pytest.raises(ConfigError, match="--json, --save: this is printed as text"):
        configs([NAME, "--json", "-"])
    assert configs(["--json", "-"]) == 0
    entries = json.loads(capsys.readouterr().out)["configs"]
    assert [entry["name"] for entry in entries] == [*reading.shipped_names()]
