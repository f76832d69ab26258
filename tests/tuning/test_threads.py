"""Linear algebra of the tuner runs in one thread."""

import os
import subprocess
import sys

import pytest
import threadpoolctl
from scipy import linalg

from jaxeval.space import space as spaces
from jaxeval.tuning import Tuner, search


def _threads() -> set[int]:
    assert linalg  # its library is another one than numpy's
    pools = threadpoolctl.threadpool_info()
    return {of["num_threads"] for of in pools if of["user_api"] == "blas"}


def test_proposals_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a library that is loaded is not limited, or stays so for the user's own work."""
    seen: list[set[int]] = []

    def propose(*arguments: object) -> list[dict[str, float]]:
        seen.append(_threads())
        return [{"x": 0.5}]

    monkeypatch.setattr(search, "_propose", lambda *of: propose)
    with threadpoolctl.threadpool_limits(2, "blas"):
        Tuner(spaces.from_dict({"x": {"uniform": [0, 1]}})).ask(1)
        assert _threads() == {2}
    assert seen == [{1}]


def test_the_limit_holds_whatever_was_loaded_when_it_was_first_asked_for() -> None:
    """Dies if scipy's library, loaded after the first limit, has all threads: a process that began
    with random settings asked the model ten times as long."""
    code = (
        "from jaxeval.tuning import threads\n"
        "with threads.one(): pass\n"
        "from scipy import linalg\n"
        "import threadpoolctl\n"
        "with threads.one():\n"
        "    print({of['num_threads'] for of in threadpoolctl.threadpool_info()})\n"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout == "{1}\n", done.stderr
