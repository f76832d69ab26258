"""`jaxeval.tune` of a function of Python, and of commands that report scores before their last."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval.errors import ConfigError
from jaxeval.tune import __main__ as tune
from jaxeval.tuning import EvaluationFailed

SPACE: Any = {"rate": {"log_uniform": [1e-4, 1.0]}}


def _loss(values: Any) -> float:
    return float((math.log10(values["rate"]) + 2) ** 2)


def test_a_function_is_searched_and_evaluated_again() -> None:
    """Dies if a function does not get the seeds it asks for, or a known setting is not first."""
    seen: list[tuple[float, int]] = []

    def noisy(values: Any, seed: int) -> float:
        seen.append((values["rate"], seed))
        if len(seen) == 3:
            raise EvaluationFailed("no luck")
        return _loss(values) + seed / 1e6

    known = [{"rate": 0.01}]
    tuned = jaxeval.tune(
        noisy, SPACE, 8, higher_is_better=False, retrain=3, enqueue=known, quiet=True
    )
    assert seen[0] == (0.01, 1) and len(seen) == 11 and len({seed for _, seed in seen}) == 11
    assert tuned.path is None and tuned.tree["failures"] == {"no luck": 1}
    assert tuned.values["rate"] == pytest.approx(0.01, rel=1)
    again = jaxeval.tune(_loss, SPACE, 5, higher_is_better=False, quiet=True)
    assert again.tree["retrained"] is None and again.tree["seeded"] is False


def test_a_function_goes_on_from_its_state(tmp_path: Path) -> None:
    """Dies if a killed search begins anew, or ends with other settings than one that was not."""
    state, calls = tmp_path / "s.json", [0]

    def dying(after: int) -> Callable[..., float]:
        def loss(values: Any) -> float:
            calls[0] += 1
            if calls[0] > after:
                raise KeyboardInterrupt
            return _loss(values)

        return loss

    def run(of: Any, path: Path | None) -> Any:
        return jaxeval.tune(of, SPACE, 9, higher_is_better=False, state=path, quiet=True).tree

    with pytest.raises(KeyboardInterrupt):
        run(dying(4), state)
    calls[0] = 0
    ended = run(dying(99), state)
    assert calls[0] == 5
    calls[0] = 0
    assert ended["evaluations"] == run(dying(99), None)["evaluations"]


def test_a_function_that_reports_is_stopped_early() -> None:
    """Dies if what halving stops runs to its end, or its last score counts."""
    steps: list[int] = []

    def loss(values: Any, report: Callable[[int, float], bool]) -> float:
        for step in range(1, 10):
            if report(step, _loss(values) + 1 / step):
                steps.append(step)
                return math.nan
        steps.append(9)
        return _loss(values)

    tree = jaxeval.tune(
        loss, SPACE, 12, higher_is_better=False, halving=3, steps=9, parallel=2, quiet=True
    ).tree
    stopped: Any = [e["stopped"] for e in tree["evaluations"] if "stopped" in e]
    assert sorted(at for at, _ in stopped) == sorted(step for step in steps if step < 9)
    assert stopped and not tree["failures"] and 9 in steps
    with pytest.raises(ConfigError, match=r"halving: _loss has no argument report"):
        jaxeval.tune(_loss, SPACE, 4, halving=3, steps=9)
    with pytest.raises(ConfigError, match=r"seeds: _loss has no argument seed"):
        jaxeval.tune(_loss, SPACE, 4, seeds=2)
    with pytest.raises(ConfigError, match=r"steps: goes with a function"):
        jaxeval.tune("reimers2017/ud_pos", SPACE, 4, steps=9)


def test_a_command_that_reports_is_stopped_early(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if lines of JSON are not heard before the command ends, or it runs on."""
    script, space = tmp_path / "p.py", tmp_path / "s.toml"
    space.write_text("[rate]\nlog_uniform = [1e-4, 1.0]\n")
    script.write_text(
        "import json, math, sys, time\nloss = (math.log10(float(sys.argv[1])) + 2) ** 2\n"
        "for step in range(1, 10):\n"
        "    print(json.dumps({'step': step, 'score': loss + 1 / step}), flush=True)\n"
        "    if loss > 1: time.sleep(step - 1)\n"  # one that is stopped is not waited for
        "print(loss)\n"
    )
    words = ["--space", str(space), "--state", str(tmp_path / "t.json"), "--lower-is-better"]
    words += ["--command", f"{sys.executable} {script} {{rate}}", "--trials", "6", "--seed", "1"]
    words += ["--enqueue", "rate=0.01"]
    assert tune.main([*words, "--halving", "3", "--steps", "9", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    first, *others = tree["evaluations"]
    assert first["values"] == {"rate": 0.01} and first["scores"] == [0.0]
    assert any("stopped" in of for of in others) and not tree["failures"]
    with pytest.raises(ConfigError, match="--halving, --steps: expected both of a command"):
        tune.main([*words, "--halving", "3"])
    with pytest.raises(ConfigError, match="enqueue: rat: no such hyperparameter"):
        tune.main([*words[:-1], "rat=0.01"])
