"""Do the intrinsic scores of known vectors come out as recomputed elsewhere, to the digit?

The 2,717 most frequent words of GloVe 6B (100 d) on WordSim-353, SimLex-999, MEN and Google's
analogies: words in lower case, pairs without a vector left out, all words of the file candidates,
3CosMul with .001. Every line of the output is one figure, the expected one beside it.

    python benchmarks/vectors_golden.py --data DATA     # or JAXEVAL_DATA
"""

import argparse
import json
import os
from pathlib import Path

from jaxeval import vectors
from jaxeval.vectors import analogies, similarity

_RHOS = {  # file -> correlation, pairs covered, pairs
    "EN-WS-353-ALL.txt": (0.6719, 141, 353),
    "EN-WS-353-SIM.txt": (0.6616, 83, 203),
    "EN-WS-353-REL.txt": (0.6120, 107, 252),
    "EN-SIMLEX-999.txt": (0.2231, 206, 999),
    "EN-MEN-TR-3k.txt": (0.6945, 374, 3000),
}
_RIGHT = {"3CosAdd": 973, "3CosMul": 981}
_COVERED, _ASKED = 1235, 19544
_PARTS = {"semantic": (159, 219), "syntactic": (814, 1016)}  # of 3CosAdd: right, covered
_SECTIONS = {"gram6-nationality-adjective": (409, 410), "gram1-adjective-to-adverb": (8, 30)}


def main() -> None:
    """Prints a line a figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    home = os.environ.get("JAXEVAL_DATA")
    parser.add_argument("--data", type=Path, default=home, required=home is None)
    data = Path(parser.parse_args().data)
    read = vectors.read(data / "glove" / "glove.6B.100d.head.txt")
    sets = [similarity.read(data / "wordsim" / name) for name in _RHOS]
    for result in similarity.evaluate(sets, {"v": read}, resamples=1):
        score = result.scores["v"]
        _print(
            result.name, (_rounded(score.skip), score.covered, result.total), _RHOS[result.name]
        )
    questions = analogies.read(data / "analogies" / "questions-words.txt")
    for method in analogies.METHODS:
        answered = analogies.answer(questions, read, method)
        accuracies = analogies.evaluate(questions, method, {"v": answered}, resamples=1).scores[
            "v"
        ]
        _print(method, accuracies.overall, (_RIGHT[method], _COVERED, _ASKED))
        if method == "3CosAdd":
            for name, expected in {**_PARTS, **_SECTIONS}.items():
                part = {**accuracies.groups, **accuracies.sections}[name]
                _print(f"{method} {name}", part[:2], expected)


def _rounded(value: float | None) -> float:
    assert value is not None
    return round(value, 4)


def _print(name: str, values: tuple[float, ...], expected: tuple[float, ...]) -> None:
    line = {"figure": name, "found": values, "expected": expected, "same": values == expected}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
