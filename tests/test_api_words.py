"""Mistakes are told in the words of the caller: arguments in Python, options of a verb."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval import errors
from tests import comparing, from_python
from tests.from_python import TOY, A, B

_toys = from_python.toys  # a fixture of all tests here


def _verb(name: str, *words: str) -> Any:
    return importlib.import_module(f"jaxeval.{name}").main(words)


TOY_WORDS = ("task=toy",)
SPOKEN: dict[str, tuple[Callable[[], Any], str, Callable[[], Any], str]] = {
    "data": (
        lambda: jaxeval.train(TOY, data=" "),
        "data: got ' ', an empty path (a shell variable that is not set?); expected a folder, a "
        "file or tfds:NAME, or no data",
        lambda: _verb("train", *TOY_WORDS, "--data", " "),
        "--data: got ' ', an empty path (a shell variable that is not set?); expected a folder, a "
        "file or tfds:NAME, or no --data",
    ),
    "again": (
        lambda: jaxeval.train(TOY, again=True),
        "again=True goes with training.save_models=true",
        lambda: _verb("train", *TOY_WORDS, "--again"),
        "--again goes with training.save_models=true",
    ),
    "columns": (
        lambda: jaxeval.compare("tidy.csv"),
        ": column={'score': 'the f1'}",
        lambda: comparing.main("tidy.csv"),
        ": --column score=the f1",
    ),
    "missing": (
        lambda: jaxeval.read_scores("tidy.csv", score="lost"),
        "; missing='drop' leaves such scores out, missing='zero' counts them as 0",
        lambda: comparing.main("tidy.csv", "--score", "lost"),
        "; --missing drop leaves such scores out, --missing zero counts them as 0",
    ),
    "unit": (
        lambda: jaxeval.compare(A, B, unit="dataset"),
        "unit='dataset': no such column",
        lambda: comparing.main("tidy.csv", "--score", "the f1", "--unit", "dataset"),
        "--unit dataset: no such column",
    ),
}


@pytest.mark.parametrize("case", SPOKEN)
def test_arguments_are_called_as_the_caller_calls_them(case: str) -> None:
    """Dies if Python is told of flags that it does not have, or a verb of anything else."""
    Path("tidy.csv").write_text("model,the f1,lost\na,.51,.5\na,.52,\nb,.63,.6\nb,.64,.7\n")
    of_python, said, of_verb, said_there = SPOKEN[case]
    with pytest.raises(errors.JaxevalError) as raised:
        of_python()
    assert said in str(raised.value) and "--" not in said
    with pytest.raises(errors.JaxevalError) as raised:
        of_verb()
    assert said_there in str(raised.value)
