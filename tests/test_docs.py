"""Every example of README, docs, help texts and shipped configs is one that works.

Shell blocks are run by bash with stand-ins that note how jaxeval is called, so that variables,
loops and functions count; each call's arguments are then parsed, and its config, changes, space
and variants are read. Names in capitals (CONFIG, DIR) stand for what a reader has. Python blocks
are run as they stand, a page's one after the other, with a model of four units.
"""

import importlib
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
import types
from pathlib import Path

import jax.numpy as jnp
import pytest

from jaxeval import cli, parsers, space, studies, tasks
from jaxeval.__main__ import VERBS, commands, main
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.population import epoch

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"]
PAGES += sorted(
    str(page.relative_to(ROOT))
    for folder in ("docs", "benchmarks/results")
    for page in (ROOT / folder).glob("*.md")
)
CALL = re.compile(r"^\s*(?:uv run )?(?:jaxeval |python (?:-m jaxeval|benchmarks/))", re.M)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
INDENTED = re.compile(r"(?:^ {2,}\S.*\n)+", re.M)
NAMED = re.compile(r"(?<![\w/.*-])(?:benchmarks|configs|docs|jaxeval|tests)/[\w./*-]*\.[a-z]+\b")
SHOWN = re.compile(r"^\$ jaxeval (plan .*|.* docs/scores\.csv)\n((?:.+\n|\n)*?)```", re.M)
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([\w-]+))?\)")
# of the embedded default, which pages train
SMALL = ["data.train_sentences=60", "data.dimension=4", "data.max_widths=1"]
SMALL += ["model.encoder=window", "model.window.hidden=4", "model.dropout.kind=naive"]
SMALL += ["model.characters.encoder=none", "training.epochs=1", "training.batch_size=32"]
SMALL += ["training.lanes=2"]  # for any number of seeds, so that pages share programs
# every call of python and jaxeval as a line of words; nothing else can be called
STAND_INS = r"""
note() { printf '%s\x1f' "$@" >&3; printf '\x1e' >&3; }
python() { if [ "$1" = -m ]; then note "${@:2}"; else note "$@"; fi; }
jaxeval() { note jaxeval "$@"; }
uv() { shift; "$@"; }
command_not_found_handle() { :; }
"""


def _blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page that name a language."""
    fenced = FENCED.findall((ROOT / page).read_text())
    return [block for named, block in fenced if named == language]


def _script(text: str) -> str:
    """Blocks that call jaxeval, fenced without a language or indented, as one script.

    Of a block that shows what a command prints, only the lines after a prompt count. A later block
    may use the variables of an earlier one.
    """
    blocks = [block for language, block in FENCED.findall(text) if not language]
    blocks = ["\n".join(re.findall(r"^\$ (.*)", b, re.M)) if "$ " in b[:2] else b for b in blocks]
    blocks += INDENTED.findall(FENCED.sub("", text) + "\n")
    return "\n".join(textwrap.dedent(block) for block in blocks if CALL.search(block))


def _help(verb: str) -> str:
    """The examples in a verb's help."""
    found = [cli.docstring_sections(f()).get("Examples:", ()) for f in commands(verb).values()]
    return "\n\n".join("\n".join(lines) for lines in found)


def _calls(text: str, folder: Path) -> list[list[str]]:
    """How the shell blocks of a text call python and jaxeval, in words."""
    noted, bash = folder / "calls", shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "-c", f"exec 3>{noted}\n{STAND_INS}\n{_script(text)}"],
        cwd=folder,
        env={"PATH": "/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=10,
    )
    assert "syntax error" not in done.stderr, done.stderr
    return [call.split("\x1f")[:-1] for call in noted.read_text().split("\x1e")[:-1]]


def _check(words: list[str]) -> None:
    """Fails if a call names a verb, flag, config, key, space or script that is not there."""
    print(*words)  # shown where the parser refuses it
    program, *words = words
    if program.endswith(".py"):
        assert (ROOT / program).is_file()
        return
    assert program == "jaxeval"
    verb, *words = words
    if verb in ("--help", "VERB") or "--help" in words or words[-1:] == ["..."]:
        return
    known = commands(verb)
    name = words.pop(0) if words and words[0] in known else ""
    function = known[name]()
    given = vars(parsers._parsed(parsers._make_parser(verb, function, ""), function, words))
    if "config" in given and not _stands_for_one(given["config"]):
        studies.read(given["config"], given["changes"], given["data"])
    if not _stands_for_one(given.get("space") or "NONE"):
        space.load(given["space"])[0]
    if not _stands_for_one(given.get("variants") or "NONE"):
        importlib.import_module("jaxeval.ablation")._read_variants(given["variants"])


def _stands_for_one(name: str | None) -> bool:
    return name is not None and (name.isupper() or name == "space.toml")


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_pages(page: str, tmp_path: Path) -> None:
    """Dies if a page names a verb, flag, config or key that is not there."""
    text = (ROOT / page).read_text()
    calls = _calls(text, tmp_path)
    for call in calls:
        _check(call)
    assert calls or not CALL.search(text)


@pytest.mark.parametrize("verb", VERBS)
def test_commands_of_help(verb: str, tmp_path: Path) -> None:
    """Dies if a verb's help breaks off, or if its examples do not parse."""
    for command in commands(verb).values():
        assert "\n".join(cli.docstring_sections(command())[""]).rstrip().endswith(".")
    calls = _calls(_help(verb), tmp_path)
    assert calls
    for call in calls:
        _check(call)


def test_commands_of_shipped_configs(tmp_path: Path) -> None:
    """Dies if the command in a config's comment does not train that config."""
    calls = 0
    for name in reading.shipped_names():
        text = re.sub(r"^# ?", "", reading.read_text(name), flags=re.MULTILINE)
        for call in _calls(text, tmp_path) if CALL.search(text) else ():
            _check(call)
            assert name in call
            calls += 1
    assert calls > 3


@pytest.mark.parametrize(
    "block",
    [
        "jaxeval train --sedes 8",
        "jaxeval trian",
        "C=reimers2017\njaxeval train $C/wnut17",
        "for rate in 1 2; do\n    uv run jaxeval train training.batch_sise=$rate\ndone",
        "$ jaxeval sweep wiemerslage2024/georgian_transformer --space wiemerslage2024/space_lstm",
        "uv run python benchmarks/nothing.py",
    ],
)
def test_wrong_commands_are_seen(block: str, tmp_path: Path) -> None:
    """Dies if a wrong flag, verb, config, key or script could stand in a page."""
    calls = _calls(f"Text:\n\n```\n{block}\n```\n", tmp_path)
    assert calls
    with pytest.raises((SystemExit, AssertionError, ConfigError, KeyError)):
        for call in calls:
            _check(call)


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_files_of_pages(page: str) -> None:
    """Dies if a page names or links a file that is not there, or a heading."""
    text = (ROOT / page).read_text()
    for name in NAMED.findall(text):
        stands_for_one = "majority" in name or "..." in name or "PAPER" in name
        assert stands_for_one or [*ROOT.glob(name)], name
    for path, heading in LINK.findall(FENCED.sub("", text)):
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), path
        if heading:
            assert heading in _headings(target.read_text()), f"{path}#{heading}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if SHOWN.search((ROOT / page).read_text())]
)
def test_output_of_pages(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Dies if a page shows another answer than jaxeval prints."""
    for command, shown in SHOWN.findall((ROOT / page).read_text()):
        assert main(command.split()) == 0
        assert shown in capsys.readouterr().out


def _headings(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    lines = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.M)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page, "python")])
def test_python_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if an example of the docs raises; only a page's own task learns, others would compile
    for seconds."""
    monkeypatch.chdir(tmp_path)
    if page != "docs/add_a_task.md":
        monkeypatch.setattr(epoch, "train_epoch", lambda *of: (of[2], jnp.float32(0)))
    monkeypatch.setattr(tasks, "KINDS", dict(tasks.KINDS))
    read = studies.read
    monkeypatch.setattr(
        studies, "read", lambda c, k=(), d=None: read(c, k if c else [*SMALL, *k], d)
    )
    monkeypatch.setitem(
        sys.modules, "pandas", types.SimpleNamespace(DataFrame=lambda rows, **_: rows)
    )
    Path("words.txt").write_text("Anna\nsleeps\n\n")
    Path("scores.csv").write_text(
        "model,f1\nlstm,.8\nlstm,.81\nlstm,.83\ngru,.7\ngru,.72\ngru,.71\n"
    )
    names = {"__name__": "__main__"}
    for block in _blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


def test_a_task_is_short() -> None:
    """Dies if what a task costs grows: the page's blocks but the last, which trains."""
    code = "\n".join(_blocks("docs/add_a_task.md", "python")[:-1])
    assert len([line for line in code.splitlines() if line.strip()]) < 80


def test_toml_blocks() -> None:
    """Dies if the space that docs/search.md shows is none."""
    (block,) = (block for page in PAGES for block in _blocks(page, "toml"))
    assert len(space.from_dict(tomllib.loads(block)).parameters) == 4


CITING = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("jaxeval/**/*.py")]
CITING += ROOT.glob("configs/**/*.toml")
YEAR = r"(?:19|20)\d\d"
OTHERS = r"(?: (?:and|&) \w+(?:'s)?| et al\.?)?"
# Name (1999), Name and Other (1999), (Name & Other 1999), Name et al. 1999
CITED = re.compile(
    rf"([A-Z][\w-]+?)(?:'s)?{OTHERS},? \(({YEAR})[,;)]|\(([A-Z][\w-]+?){OTHERS} ({YEAR})|"
    rf"([A-Z][\w-]+) (?:& [A-Z]\w+|et al\.) ({YEAR})"
)

SETS = {"Opinion", "SIGMORPHON", "Term", "VecEval"}  # shared tasks and their data


def test_all_that_is_cited_is_named() -> None:
    """Dies if a paper that is cited by name and year is not on the list, or spelt otherwise."""
    listed: dict[str, str] = {}
    for line in (ROOT / "docs" / "references.md").read_text().splitlines():
        if entry := re.match(rf"\* (.*?) \(({YEAR})\)", line):
            listed[entry[2]] = f"{listed.get(entry[2], '')} {entry[1]}"
    lacking = set()
    for page in CITING:
        for found in CITED.findall(page.read_text()):
            name, year = (of for of in found if of)
            if name not in SETS and not re.search(rf"\b{re.escape(name)}\b", listed.get(year, "")):
                lacking.add((name, year, page.name))
    assert not lacking
