"""Programs of `settle command` and `select command` in the test's own process: another one takes
longer to begin than such a program to end."""

import contextlib
import io
import runpy
import sys
import threading
from collections.abc import Iterator, Mapping

import pytest

from jaxeval.bandits import commands

_ONE = threading.Lock()  # arguments and output are the process's


@contextlib.contextmanager
def programs() -> Iterator[None]:
    """While it is entered, commands "python FILE ..." are run here, one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands.Command, "score", _score)
        yield


def _score(command: commands.Command, values: Mapping[str, str]) -> float:
    """As `Command.score`."""
    _, *words = command.words(values)
    out = io.StringIO()
    with _ONE, pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", words)
        try:
            runpy.run_path(words[0])
        except (Exception, SystemExit) as ended:
            if not isinstance(ended, SystemExit) or ended.code:
                raise commands.EvaluationFailed(f"exit code 1 ({ended})") from None
    assert command.pattern is None and str(command.folder) == "."
    return commands._score(out.getvalue(), command.field, command.assumed)
