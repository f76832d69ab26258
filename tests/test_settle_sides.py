"""What tells two sides of `settle command` apart: one id, one program."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxeval.bandits.commands import Command
from jaxeval.errors import ConfigError
from jaxeval.settle import sides
from jaxeval.settle.sides import Side

COMMAND = f"{sys.executable} train.py --config=small.json {{seed}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """A folder with a program and its settings."""
    path = tmp_path / "repository"
    path.mkdir()
    for name, text in {"train.py": "1", "model.py": "1", "small.json": "1", "a.csv": "1"}.items():
        (path / name).write_text(text)
    return path


def _git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def _commit(folder: Path) -> None:
    _git(folder, "init", "-q")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")


def _side(folder: Path, command: str = COMMAND, field: str | None = None) -> Side:
    return sides.side(Command(command, ["seed"], field, folder=folder))


def _id(folder: Path, command: str = COMMAND) -> str:
    return _side(folder, command).id


@pytest.mark.parametrize("git", [False, True])
def test_changed_code_is_another_side(folder: Path, git: bool) -> None:
    """Dies if scores of older code are used again: of an import, a named file, a new module."""
    if git:
        _commit(folder)
    ids = [_id(folder)]
    for name in ("model.py", "small.json", "new.py"):
        (folder / name).write_text("2")
        ids.append(_id(folder))
    (folder / "new.py").write_text("3")
    assert len({*ids, _id(folder), _side(folder, field="dev.f1").id}) == 6
    assert _id(folder, COMMAND + " ") != _id(folder)


@pytest.mark.parametrize("git", [False, True])
def test_what_a_program_writes_changes_nothing(folder: Path, git: bool) -> None:
    """Dies if a comparison cannot go on since its program wrote results."""
    if git:
        _commit(folder)
    before = _id(folder)
    for name in ("scores.csv", ".hydra/config.yaml", "wandb/config.yaml", "__pycache__/a.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    assert _id(folder) == before
    assert "scores.csv" in _side(folder).notes[0] or not git


def test_a_commit_changes_no_side_and_nothing_of_git(folder: Path) -> None:
    """Dies if a kept candidate is not the base that it becomes, or the repository is written."""
    _commit(folder)
    first = _side(folder)
    (folder / "model.py").write_text("2")
    (folder / "new.py").write_text("2")
    _git(folder, "add", "new.py")
    written = {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")}
    changed = _side(folder)
    (folder / "new.py").write_text("3")  # staged, not committed
    staged = _side(folder)
    assert written == {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")}
    assert len({first.id, changed.id, staged.id}) == 3
    assert (changed.commit, changed.notes) == (f"{first.commit}+", ())
    _git(folder, "commit", "-q", "-a", "-m", "second")
    assert _id(folder) == staged.id
    _git(folder, "worktree", "add", "-q", "--detach", "../base", "HEAD~1")
    assert _id(folder.parent / "base") == first.id


def test_folders_of_one_repository_are_two_sides(folder: Path) -> None:
    """Dies if the same command in two folders of a repository is one program."""
    for name in ("a", "b"):
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns("a", "b"))
    _commit(folder)
    assert _id(folder / "a") != _id(folder / "b")
    before = _id(folder / "a")
    (folder / "model.py").write_text("2")  # which a may import
    assert _id(folder / "a") != before


def test_submodules_and_repositories_inside(folder: Path) -> None:
    """Dies if changed code of a submodule, or of a repository in the folder, is unseen."""
    library = folder.parent / "library"
    library.mkdir()
    (library / "layers.py").write_text("1")
    _commit(library)
    _commit(folder)
    _git(folder, "submodule", "add", "-q", str(library), "part")
    _git(folder, "clone", "-q", str(library), "clone")
    ids = [_id(folder)]
    for inside in ("part", "clone"):
        (folder / inside / "layers.py").write_text("2")
        ids.append(_id(folder))
    assert len({*ids}) == 3


def test_folders_without_a_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if an empty or bare repository, or a machine without git, is an error."""
    outside = _side(folder)
    assert "no git commit" in outside.notes[0] and outside.commit == ""
    _git(folder, "init", "-q")
    assert _id(folder) == outside.id
    _git(folder.parent, "init", "-q", "--bare", "bare")
    assert _side(folder.parent / "bare", "ls {seed}").commit == ""
    _commit(folder)
    monkeypatch.setenv("PATH", "")
    assert _id(folder) == outside.id


def test_a_file_too_large_to_read_counts_by_size_and_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a large file that a command names is left out."""
    monkeypatch.setattr(sides, "_LARGEST", 0)
    before = _id(folder, "cat a.csv {seed}")
    (folder / "a.csv").write_text("12")
    assert _id(folder, "cat a.csv {seed}") != before


def test_too_many_files_of_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a home folder is read for minutes."""
    monkeypatch.setattr(sides, "_MOST", 1)
    with pytest.raises(ConfigError, match="more than 1 files of code"):
        _id(folder)
