"""Numbers and notes as words."""

from jaxeval.report import text
from jaxeval.stats.results import Interval, no_interval


def test_methods_of_intervals() -> None:
    """Dies if a kind has no method, a method is named twice, or one that made no interval."""
    t, bootstrap = Interval(0.1, 0.2, 0.95, "t"), Interval(0.1, 0.3, 0.95, "bootstrap, seed 0")
    named = {"means": [t, None, t], "shares": [t, bootstrap], "gaps": [no_interval(0.95, "x")]}
    assert text.methods(named) == "CIs of means by t; of shares by t or bootstrap, seed 0"
    assert text.methods({"gaps": []}) == "no CIs"
