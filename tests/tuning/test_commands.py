"""Commands as what is tuned."""

import json
import sys

import pytest

from jaxeval.errors import ConfigError
from jaxeval.space import space as spaces
from jaxeval.tuning.commands import Command

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-8, 1.0]},
        "cell": {"choices": ["lstm", "gru"]},
        "peephole": {"choices": [True, False], "when": {"cell": ["lstm"]}},
    }
)
VALUES = {"rate": 1.2345678901234568e-05, "cell": "lstm", "peephole": True}


def test_a_command_gets_values_without_losing_digits() -> None:
    """Dies if a float is rounded, true is spelled as in Python, or JSON's braces are replaced."""
    command = Command(
        "true --rate={rate} {cell} --peephole={peephole} -s {seed} '{\"a\": 1}'", SPACE
    )
    assert command.words(VALUES, 7) == [
        "true", "--rate=1.2345678901234568e-05", "lstm", "--peephole=true", "-s", "7", '{"a": 1}',
    ]  # fmt: skip
    plain = Command("true {values}", SPACE).words(VALUES, 7)
    assert json.loads(plain[1]) == VALUES


def test_words_of_inactive_hyperparameters_are_left_out() -> None:
    """Dies if a program is given an empty value, or the name in braces."""
    command = Command("true --rate={rate} {cell} --peephole={peephole} {seed}", SPACE)
    words = command.words({"rate": 0.5, "cell": "gru"}, 1)
    assert words == ["true", "--rate=0.5", "gru", "1"]


def test_no_shell_reads_the_values() -> None:
    """Dies if a value is split at spaces or run: what is printed is the number of arguments."""
    odd = spaces.from_dict({"text": {"choices": ["a b; exit 3", "$(x)"]}})
    code = "import sys; print(len(sys.argv))"
    assert Command(f"{sys.executable} -c '{code}' {{text}}", odd)({"text": "a b; exit 3"}, 1) == 2


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "true {rat} {cell} {peephole}",
            r"\{rat\}: no such hyperparameter; did you mean \{rate\}",
        ),
        ("true {rate} {cell}", r"\{peephole\} is missing"),
        ("true", r"expected \{values\}, or each hyperparameter by its name"),
        ("no-such-program {values}", "no such program"),
        ("true {values} 'x", "cannot be split"),
        ("", "expected a program and its arguments, got nothing"),
    ],
)
def test_bad_commands_are_refused(template: str, message: str) -> None:
    """Dies if a command that cannot be right is run once a setting."""
    with pytest.raises(ConfigError, match=message):
        Command(template, SPACE)


def test_names_that_stand_for_something_else_are_refused() -> None:
    """Dies if a hyperparameter called seed is filled with the seed of an evaluation."""
    with pytest.raises(ConfigError, match=r"seed.* is taken"):
        Command("true {seed}", spaces.from_dict({"seed": {"integer": [1, 3]}}))
