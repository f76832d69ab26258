"""Files are written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxeval import files
from jaxeval.errors import ConfigError, RunError


def test_what_cannot_be_written_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    """Dies if a file in place of a folder is no error, or the question leaves anything behind."""
    (tmp_path / "a.txt").touch()
    before = [*tmp_path.iterdir()]
    for path in ("b.txt", "new/deep/b.txt", "a.txt"):
        files.refuse_unwritable(tmp_path / path)
    files.refuse_unwritable(folder=tmp_path / "new")
    inside = tmp_path / "a.txt" / "new"
    for path, folder in ((inside / "b", False), (inside, True), (tmp_path / "a.txt", True)):
        with pytest.raises(RunError, match=r"cannot be written \(Not a directory\)"):
            files.replaceable(path, is_file=not folder)
    with pytest.raises(RunError, match=r"cannot be written \(Is a directory\)"):
        files.refuse_unwritable(tmp_path)
    assert [*tmp_path.iterdir()] == before


def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if half a file, or a temporary one, stays behind when there is no room."""
    path = tmp_path / "new" / "a.txt"
    with files.replacing(path, "w") as stream:
        stream.write("before")
    with pytest.raises(RunError, match="cannot be written") as caught, files.replacing(path, "w"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(caught.value) == f"{path}: cannot be written (No space left on device)"
    with pytest.raises(ValueError, match="mine"), files.replacing(path, "wb") as stream:
        raise ValueError("mine")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunError, match="No space"), files.replacing(path, "w") as stream:
        stream.write("after")
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"


def test_contents_are_on_disk_before_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a machine that stops can leave an empty file where a whole one was, or a folder that
    cannot be brought to disk is taken for a file that was not written."""
    happened: list[tuple[str, int]] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        happened.append(("folder" if is_folder else "file", os.fstat(descriptor).st_size))
        if is_folder:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        fsync(descriptor)

    def replaced(before: str, after: Path) -> None:
        happened.append(("name", 0))
        replace(before, after)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with files.replacing(tmp_path / "a.txt", "w") as stream:
        stream.write("after")
    assert happened[0] == ("file", 5)
    assert [what for what, _ in happened] == ["file", "name", "folder"]


def _written(path: Path, text: str) -> None:
    files.refuse_unwritable(path)
    with files.replacing(path, "w") as stream:
        stream.write(text)


def test_a_folder_that_cannot_be_synced_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if every file that is written keeps its folder open."""
    fsync = os.fsync

    def refused(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            opened.append(descriptor)
            raise OSError(errno.EINVAL, "not of folders")
        fsync(descriptor)

    opened = list[int]()
    monkeypatch.setattr(os, "fsync", refused)
    files.write_text(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(*opened)


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    """Dies if a regular file takes the place of what is none, or the question opens it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reader, "rb") as stream:
        _written(path, "Zoë\n")
        assert stream.read() == "Zoë\n".encode()
    assert path.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_of_a_symlink_the_target_is_replaced(tmp_path: Path) -> None:
    """Dies if a link becomes a file, or a file loses its mode."""
    target, link = tmp_path / "deep" / "a.txt", tmp_path / "link"
    link.symlink_to(target)  # to nothing yet
    _written(link, "before")
    assert target.stat().st_mode & 0o777 == 0o644
    target.chmod(0o600)
    _written(link, "after")
    assert link.is_symlink() and target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == 0o600
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path / "new")  # to nothing: no folder of figures can be made there
    _written(folder / "b.txt", "here")
    assert (tmp_path / "new" / "b.txt").read_text() == "here"
    folder.unlink()
    folder.symlink_to(tmp_path / "none")
    with pytest.raises(RunError, match="is a link to nothing"):
        files.refuse_unwritable(folder=folder)


def test_stdout_is_written_after_what_was_printed(tmp_path: Path) -> None:
    """Dies if a file that stdout goes to is replaced, or begun anew, as another name of it."""
    code = (
        "from pathlib import Path\nfrom jaxeval import files\nprint('before')\n"
        "with files.replacing(Path('/proc/self/fd/1'), 'w') as stream: stream.write('whole\\n')\n"
        "print('after')"
    )
    out = tmp_path / "out"
    for _ in range(2):
        with out.open("w") as stream:
            subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
        assert out.read_text() == "before\nwhole\nafter\n"
    piped = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"before\nwhole\nafter\n"


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    """Dies if one output is written over another, by whatever name."""
    whole, other = str(tmp_path / "a"), str(tmp_path / "b")
    (tmp_path / "link").symlink_to(whole)
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    files.refuse_unwritable(whole, other, None, "-", "-", pipe, pipe)
    for second in (whole, f"{tmp_path}/./a", str(tmp_path / "link")):
        with pytest.raises(ConfigError, match="two outputs"):
            files.refuse_unwritable(whole, other, second)
    with pytest.raises(ConfigError, match="two outputs"):
        files.refuse_unwritable(whole, folder=whole)
    assert not (tmp_path / "a").exists()


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    """Dies if a temporary file of a killed process stays, or one that may be in use goes."""
    old, new, other = (tmp_path / name for name in (".jaxeval.a", ".jaxeval.b", "jaxeval.c"))
    for path in (old, new, other):
        path.write_text("half")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    with files.replacing(tmp_path / "a.txt", "w") as stream:
        stream.write("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", new.name, other.name}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_written_into(tmp_path: Path) -> None:
    """Dies if `--json /dev/null` of root replaces the device by a file."""
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.open("w").close()
    except PermissionError:
        pytest.skip("no devices in this container")
    (tmp_path / "link").symlink_to(path)
    for name in ("null", "link"):
        _written(tmp_path / name, "gone")
        assert path.is_char_device() and (tmp_path / "link").is_symlink()
