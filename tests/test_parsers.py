"""A verb's function as a command: words become arguments, results are printed and saved."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from jaxeval import parameters, parsers, report
from jaxeval.errors import ConfigError
from jaxeval.parameters import Changes, Count, Positive, Probability, Seeds
from jaxeval.report import Result


@dataclasses.dataclass(frozen=True, repr=False)
class _Found(Result):
    arguments: Mapping[str, object]

    def document(self) -> report.Document:
        table = report.Table(("name", "value"), [("a <b>", "1"), ("c & d", "2")], "Values.", 1)
        return report.Document(
            ("A is better.",), (table,), details=lambda: ["All of it."], signature="jaxeval"
        )


@parameters.verb
def _search(
    config: "str | Path | Mapping[str, object] | None" = None,
    changes: Changes = (),
    *,
    seeds: Seeds = 8,
    trials: Count | None = None,
    alpha: Probability = 0.05,
    margin: Positive | None = None,
    method: Literal["gp", "random"] = "gp",
    column: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
    lower_is_better: bool | None = None,
    again: bool = False,
    quiet: parameters.Quiet = False,
) -> _Found:
    """Searches 100 % of a space.

    Args:
      config: TOML file.
      changes: keys of the config.
      trials: how many,
        in all.
      alpha, margin: level and size.

    Examples:
      jaxeval search CONFIG --trials 3

    Raises:
      ConfigError: always.
    """
    return _Found({k: v for k, v in locals().items() if k != "quiet"})


@parameters.verb
def _list(*files: str) -> str:
    """Lists files."""
    return "\n".join([*files, ""])


@parameters.verb
def _choose(*configs: str, changes: Changes = ()) -> str:
    """Chooses a config."""
    return f"{[*configs]} {[*changes]}\n"


COMMANDS = {"": lambda: _search, "list": lambda: _list, "choose": lambda: _choose}


def _called(tmp_path: Path, *words: str) -> dict[str, object]:
    target = tmp_path / "out.json"
    assert parsers.main("search", COMMANDS, [*words, "--json", str(target)]) == 0
    found: dict[str, object] = json.loads(target.read_text())["arguments"]
    return found


def test_words_become_the_arguments_of_python(tmp_path: Path) -> None:
    words = (
        "a.b=1 task.toml --seeds 3,5 c=x --alpha .1 --margin 2 --method random --column m=arch "
        "--column s=f1 --ignore a,b --ignore c --no-lower-is-better --again --trials 7"
    )
    assert _called(tmp_path, *words.split()) == {
        "config": "task.toml",
        "changes": ["a.b=1", "c=x"],
        "seeds": [3, 5],
        "trials": 7,
        "alpha": 0.1,
        "margin": 2.0,
        "method": "random",
        "column": {"m": "arch", "s": "f1"},
        "ignore": ["a", "b", "c"],
        "lower_is_better": False,
        "again": True,
    }


def test_defaults_are_those_of_the_function(tmp_path: Path) -> None:
    found = _called(tmp_path)
    assert found == json.loads(json.dumps(_search().to_dict()["arguments"]))
    assert _called(tmp_path, "a.b=1")["changes"] == ["a.b=1"]  # dies if it is taken for a config
    assert _search(changes={"a": {"b": [1, "x"]}}).arguments["changes"] == ['a.b=[1, "x"]']


@pytest.mark.parametrize(
    ("words", "named", "expected"),
    [
        ("--seeds 0", {"seeds": 0}, "a whole number from 1 to 1000000"),
        ("--seeds 1,,2", {"seeds": [1, 1]}, "a whole number from 1 to 1000000"),
        ("--trials 1.5", {"trials": 1.5}, "a whole number from 1 to 1000000"),
        ("--alpha 1", {"alpha": 1}, "a number between 0 and 1"),
        ("--alpha nan", {"alpha": float("nan")}, "a number between 0 and 1"),
        ("--margin 0", {"margin": 0}, "a number above 0"),
        ("--trials 1_0", {"trials": "10"}, "a whole number from 1 to 1000000"),
        ("--trials x", {"trials": [3]}, "a whole number from 1 to 1000000"),
    ],
)
def test_numbers_are_checked_in_both_languages(
    words: str, named: dict[str, object], expected: str
) -> None:
    ((name, value),) = named.items()
    with pytest.raises(ConfigError, match=f"^--{name}: expected {expected}.*got "):
        parsers.main("search", COMMANDS, words.split())
    with pytest.raises(ConfigError, match=f"^{name}: expected {expected}.*got "):
        _search(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"method": "grid"}, "method: expected gp or random, got 'grid'"),
        ({"again": 1}, "again: expected True or False"),
        ({"ignore": "a"}, "ignore: expected a list"),
        ({"column": ["model"]}, r"column: expected a dict, got \['model'\]"),
        ({"config": 3}, "config: expected a path or a dict, got 3"),
        ({"config": ""}, "config: expected a path, not an empty one"),
        ({"changes": ["a"]}, "changes: expected key -> value"),
    ],
)
def test_python_is_told_what_was_expected(named: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _search(**named)  # type: ignore[arg-type]


def test_help_is_the_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsers.main("search", COMMANDS, ["--help"])
    said = capsys.readouterr().out
    for words in (
        "Searches 100 % of a space.",
        "how many, in all",
        "search list        Lists files.",
        "(default: 0.05)",
    ):
        assert words in said
    assert "--trials 3" in said and "Raises" not in said and "--quiet" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sedes", "8"], "--sedes: no such argument; did you mean --seeds?"),
        (["--seed", "100"], "--seed: no such argument; did you mean --seeds?"),
        (["lsit", "a"], "lsit: no such file or subcommand; did you mean list?"),
    ],
)
def test_the_nearest_is_named(words: list[str], said: str) -> None:
    """Dies if a mistyped flag or subcommand is not told the right one."""
    with pytest.raises(ConfigError, match=re.escape(said)):
        parsers.main("search", COMMANDS, words)


def test_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsers.main("search", COMMANDS, ["a.toml", "b.toml"])
    assert "error: b.toml: expected key=value;" in capsys.readouterr().err
    assert parsers.main("search", COMMANDS, ["list", "a", "--", "--b"]) == 0
    assert capsys.readouterr().out == "a\n--b\n"
    assert parsers.main("search", {"list": lambda: _list}, []) == 2
    assert "Lists files" in capsys.readouterr().out


def test_results_are_printed_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, table, text = (tmp_path / name for name in ("p.html", "t.tex", "t.md"))
    words = ["--save", str(page), "--save", str(table), "--save", str(text)]
    assert parsers.main("search", COMMANDS, words) == 0
    said = capsys.readouterr().out
    assert said.startswith("A is better.") and "a <b>" in said and "All of it" not in said
    assert "a &lt;b&gt;" in page.read_text() and "All of it." in page.read_text()
    assert r"c \& d" in table.read_text() and "% A is better." in table.read_text()
    assert "| c \\& d | 2 |" in text.read_text()
    parsers.main("search", COMMANDS, ["--details"])
    assert "All of it." in capsys.readouterr().out
    parsers.main("search", COMMANDS, ["--json", "-"])
    assert json.loads(capsys.readouterr().out)["arguments"]["seeds"] == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "grid"], "--method: expected gp or random, got 'grid'"),
        (["--column", "m"], "--column: expected ROLE=NAME, got 'm'"),
        (["--column", "a=1", "--column", "a=2"], "ROLE=NAME, each once, got 'a=2'"),
        (["--save", "x.docx"], r"--save x.docx: expected .json, .html, .md, .tex, or a folder"),
        (["--save", ""], "--save: expected a path, got an empty text"),
        (["--json", ""], "--json: expected a path, or - for stdout, got an empty text"),
        (["--save", "figures"], "--save figures: there are no figures; expected .json"),
    ],
)
def test_what_cannot_be_saved_is_told(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if another kind of file becomes a folder, or nothing is written without a word."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        parsers.main("search", COMMANDS, words)
    assert not [*tmp_path.iterdir()]


def test_an_input_is_not_replaced(tmp_path: Path) -> None:
    config = tmp_path / "a.json"
    config.write_text("{}")
    with pytest.raises(ConfigError, match="would be replaced"):
        parsers.main("search", COMMANDS, [str(config), "--json", str(config)])


def test_changes_of_several_configs_stand_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a change is taken for a config, or a file with = in its name for a change."""
    monkeypatch.chdir(tmp_path)
    Path("lr=1").touch()
    assert parsers.main("search", COMMANDS, ["choose", "a", "b.c=2", "lr=1", "d=x"]) == 0
    assert capsys.readouterr().out == "['a', 'lr=1'] ['b.c=2', 'd=x']\n"
    assert _choose("a", changes={"b": {"c": 2}}) == "['a'] ['b.c=2']\n"
