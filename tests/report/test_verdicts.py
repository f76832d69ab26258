"""Who is best in one sentence: every claim is one of the tests', whichever model comes first."""

import itertools
import re
from collections.abc import Iterator

import pytest

from jaxeval.report import text
from jaxeval.report.text import Signs

PAIRS = [*itertools.combinations("ABC", 2)]


def _designs(cells: tuple[str, ...]) -> Iterator[Signs]:
    """Every outcome of three models on these cells."""
    for signs in itertools.product((-1, 0, 1), repeat=len(PAIRS) * len(cells)):
        each = iter(signs)
        yield {pair: {cell: next(each) for cell in cells} for pair in PAIRS}


def _won(shown: Signs, a: str, b: str) -> int:
    """On how many cells A was shown to be better than B, by its own count."""
    return sum(sign == 1 for sign in shown.get((a, b), {}).values()) + sum(
        sign == -1 for sign in shown.get((b, a), {}).values()
    )


def _claims(said: str) -> Iterator[tuple[str, str, int | None]]:
    """(better, worse, on how many cells) of all that a sentence claims; None: on one cell."""
    best = re.match(r"([ABC]) (?:is best|is better|leads|scores best)", said)
    for clause in re.split(r"[;:,]", said) if best else ():
        for names, where in re.findall(
            r"than ([ABC](?: and [ABC])?)( on (?:both|all \d+|\d+ of \d+) tasks)?", clause
        ):
            count = None
            if where:
                count = 2 if "both" in where else int(re.findall(r"\d+", where)[0])
            for name in names.split(" and "):
                pair = (name, best[1]) if "worse" in clause else (best[1], name)
                yield (*pair, count)


@pytest.mark.parametrize("cells", [("",), ("x", "y")])
def test_every_claim_is_that_of_a_test_and_none_is_lost(cells: tuple[str, ...]) -> None:
    """Dies if a model is called better where it was not shown, best where it is not better than
    all, or if nothing is said to be shown where something was."""
    for shown, order in itertools.product(_designs(cells), ("ABC", "CAB")):
        said = text.sentence(order, shown, "task")
        claims = {*_claims(said)}
        for better, worse, count in claims:
            assert _won(shown, better, worse) == (count or 1), (said, shown)
        any_shown = any(sign for of in shown.values() for sign in of.values())
        assert said.startswith("No difference between the 3 models was shown") != any_shown
        champions = [
            a for a in "ABC" if all(_won(shown, a, b) == len(cells) for b in "ABC" if a != b)
        ]
        assert [*re.findall(r"^([ABC]) is best: ", said)] == champions
        if any_shown and not said.startswith("No model"):
            leader = said[0]
            beaten = {b for b in "ABC" if b != leader and _won(shown, leader, b)}
            assert beaten == {worse for better, worse, _ in claims if better == leader}
            losses = {b for b in "ABC" if b != leader and _won(shown, b, leader)}
            assert losses == {better for better, worse, _ in claims if worse == leader}


def test_pairs_that_are_turned_round_say_the_same() -> None:
    """Dies if a sentence depends on which model of a pair is called A."""
    for shown in _designs(("x", "y")):
        turned = {
            (b, a): {cell: -sign for cell, sign in of.items()} for (a, b), of in shown.items()
        }
        assert text.sentence("BAC", shown) == text.sentence("BAC", turned)
        assert text.against("B", "BAC", shown) == text.against("B", "BAC", turned)


def test_sentences_of_some_designs() -> None:
    """Dies if who cannot be told from the best, a pair that was not compared, or the counts of
    many models are lost."""
    three = {("A", "B"): {"": 0}, ("A", "C"): {"": 1}, ("B", "C"): {"": 0}}
    said = "A scores best: it is better than C; B cannot be told apart from it"
    assert text.sentence("ABC", three) == said
    noisy = {("A", "B"): {"": 0}, ("A", "C"): {"": 0}, ("B", "C"): {"": 1}}
    said = "A scores best; B and C cannot be told apart from it"
    assert text.sentence("ABC", noisy) == said  # the tests show nothing against its mean
    apart = {("A", "C"): {"": 1}}
    assert (
        text.sentence("ABC", apart)
        == "A scores best: it is better than C; B is not compared with it"
    )
    circle = {("A", "B"): {"": 1}, ("B", "C"): {"": 1}, ("A", "C"): {"": -1}}
    assert text.sentence("ABC", circle) == "No model is best: each is worse than some other model"
    names = [f"m{k}" for k in range(9)]
    pairs = {
        (a, b): {"x": int(a == "m0"), "y": int((a, b) == ("m0", "m8")), "z": 0}
        for a, b in itertools.combinations(names, 2)
    }
    assert text.sentence(names, pairs, "task") == (
        "m0 leads: it is better than m8 on 2 of 3 tasks and than m1, m2, m3, m4, m5 and 2 more on "
        "1 of 3 tasks; elsewhere no difference was shown"
    )
    two = {("A", "B"): {"x": 1, "y": -1, "z": 0}}
    assert text.sentence("AB", two, "task") == (
        "A is better than B on 1 of 3 tasks, but worse than B on 1 of 3 tasks; elsewhere no "
        "difference was shown"
    )
    of_control = {("A", "B"): {"": 1}, ("A", "C"): {"": -1}, ("A", "D"): {"": 0}}
    assert text.against("A", "CADB", of_control) == (
        "Against A, better: C; worse: B; no difference was shown: D"
    )


def test_long_lists_end_with_the_number_of_the_others() -> None:
    """Dies if a name is lost, or the number is that of all."""
    assert text.few("abcde") == "a, b, c, d, e" and text.few("abcdefg", 4) == "a, b, c, d, 3 more"
    assert text.few(["a on x", "b on y"], 1, "; ") == "a on x; 1 more"
