"""A selection among functions of Python, each of which gives the score of an evaluation."""

import sys
from collections.abc import Callable, Mapping

from jaxeval.bandits import Rule, evaluate
from jaxeval.errors import ConfigError
from jaxeval.report.selection import as_json, terminal


def select(
    rule: Rule,
    functions: Mapping[str, Callable[[int], float]],
    *,
    quiet: bool = False,
) -> as_json.Result:
    """The result as `report.selection.as_json.result` tells it.

    Args:
      functions: name -> a function of the evaluation's number, from 1.

    Raises:
      ConfigError: one is no function.
      RunError: every model was dropped.
    """
    for name, function in functions.items():
        if not callable(function):
            raise ConfigError(f"{name}: expected a function of the evaluation's number")
    state = rule.begin([*functions])
    for event in evaluate.run(rule, state, lambda name, number: functions[name](number)):
        state = event.state
        if not quiet:
            print(terminal.progress(rule, event), file=sys.stderr, flush=True)
    answer = rule.answer(state)
    assert answer is not None
    return as_json.result(rule, state, answer)
