"""How scores are read: by the unit of their metric, with as many digits as their spread needs."""

from jaxeval.report import scores
from jaxeval.runs import metrics


def test_units_of_well_known_metrics() -> None:
    """Dies if a metric is not known by its name, whatever stands before it, or one is guessed."""
    units = {"f1": "fraction", "Test_F1": "fraction", "max_val_accuracy": "fraction"}
    units |= {"WER": "error rate", "test bits_per_character": "bits", "valid-ppl": "perplexity"}
    units |= {"nll": "nats", "bleu": "number", "points": "number", "": "number"}
    assert {metric: metrics.unit_of(metric) for metric in units} == units


def test_scores_on_their_own() -> None:
    """Dies if fractions are not in percent, zeros at the end are dropped beside other digits, or a
    unit is lost or said twice."""
    assert [scores.shown(0.12345, unit) for unit in ("fraction", "error rate")] == ["12.35"] * 2
    shown = [scores.shown(v, "perplexity") for v in (62.3, 999.97, 12345.6)]
    assert shown == ["62.30", "1000", "12346"]
    assert scores.shown(None, "bits") == "-"
    assert scores.label("f1", "fraction") == "f1 (%)"
    assert scores.label("loss", "nats") == "loss (nats)" and scores.label("bits", "bits") == "bits"
    assert scores.label("perplexity", "perplexity") == "perplexity"
    margins = [(0.01, "fraction"), (0.025, "error rate"), (0.05, "bits"), (3.0, "perplexity")]
    said = [scores.difference(margin, unit) for margin, unit in margins]
    assert said == ["1 point", "2.5 points", "0.05 bits", "3"]


def test_rounding_of_sums_is_not_shown() -> None:
    """Dies if one difference has two last digits, by the order in which it was summed."""
    percent, number = (scores.score_format(unit, [0.014], 0.9) for unit in ("fraction", "number"))
    for value, nearly in ((0.09625, 0.09625000000000017), (0.375 / 3, 0.12499999999999989)):
        assert percent(value) == percent(nearly) and number(value) == number(nearly)
    assert percent(float("nan")) == percent(None) == "-"
    assert percent(-1e-9) == percent(0.0) and scores.shown(-1e-9, "fraction") == "0.00"


def test_digits_are_those_of_the_spread() -> None:
    """Dies if equal scores get eight decimals, or one nearly constant model decides for all."""
    percent = scores.score_format("fraction", [0.014, 0.012], 0.9)
    assert percent(0.26123) == "26.12" and percent.difference(0.002) == "0.20 points"
    assert scores.score_format("perplexity", [5.0], 90.0)(87.654) == "87.7"
    assert scores.score_format("number", [2.3e17], 4e18)(3.987e18) == "3.99e+18"
    assert scores.score_format("number", [20.0], 4e9)(3.9e9) == "3900000000"
    assert scores.score_format("fraction", [1e-17, 0.0], 0.85)(0.85) == "85.00"  # sums round
    assert scores.score_format("number", [0.0], 0.85)(0.85) == "0.8500"
    assert scores.score_format("number", [0.0], 0.0)(0.0) == "0.00"
    assert scores.score_format("fraction", [0.01, 1e-8], 0.9)(0.9) == "90.0000"
    assert scores.score_format("number", [1e-12], 1e-3)(1e-3) == "0.001000"


def test_a_huge_score_leaves_the_others_readable() -> None:
    """Dies if the losses of a model are zeros beside a run that diverged."""
    for top in (1e6, 1e9, 1e30):
        loss = scores.score_format("number", [0.02, top / 2], top)
        cells = [loss(v) for v in (0.8123, 0.02, -0.5, 0.0, 1234.5, -2.5e8)]
        assert cells == ["0.8123", "0.02000", "-0.5000", "0.000", "1234", "-2.50e+08"]
    returns = scores.score_format("number", [30.0, 4e4], 1e5)
    assert (returns(50_123.4), returns(1.5)) == ("50123", "2")


def test_small_scores_are_no_zeros() -> None:
    """Dies if scores of 1e-7 are printed as 0.000000, or numbers of one table have exponents of
    their own."""
    squared = scores.score_format("number", [1e-8, 3e-8], 1.5e-7)
    shown = [squared(v) for v in (1.5e-7, -2.25e-8, 0.0)]
    assert shown == ["1.50e-07", "-0.23e-07", "0.00e-07"]
    assert scores.score_format("fraction", [1e-9], 1.5e-7)(1.5e-7) == "1.500e-05"  # percent
    assert scores.score_format("nats", [1e-8], 1.5e-7).difference(1e-8) == "0.10e-07 nats"
    assert scores.score_format("number", [0.0], 1.5e-7)(1.5e-7) == "1.500e-07"
    assert scores.score_format("number", [1e-7], 0.5)(0.5) == "0.500000"
    assert scores.score_format("perplexity", [1e4], 1.5e5)(1.5e5) == "150000"
