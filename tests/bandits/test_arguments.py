"""Arguments of rules: checked when a rule is made, and kept as plain numbers."""

import dataclasses
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.errors import ConfigError

NUMBERS = {
    "delta": 0.25,
    "alpha": -0.5,
    "epsilon": 0.125,
    "logit_guard": 0.0625,
    "min_evaluations": 4,
    "budget": 20,
    "batch_size": 2,
    "seed": 3,
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("wrong", ["x", np.ones(1), Decimal("nan"), -7], ids=repr)
def test_what_is_no_number_is_refused_by_name(name: str, wrong: Any) -> None:
    """Dies if a rule is made of it, or the error is Python's own."""
    with pytest.raises(ConfigError, match=f"^{name}: ") as raised:
        bandits.TopTwoThompson(**{name: wrong})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("of", [float, Decimal, np.array, np.float32])
def test_numbers_of_any_type_are_kept_as_plain_data(of: Any) -> None:
    """Dies if a rule keeps 20.0 or a decimal, which its saved state cannot hold."""
    given: Any = {name: of(value) for name, value in NUMBERS.items()}
    rule = bandits.TopTwoThompson(**given)
    plain: Any = NUMBERS
    kept = json.dumps(dataclasses.asdict(rule))
    assert kept == json.dumps(dataclasses.asdict(bandits.TopTwoThompson(**plain)))
    assert '"budget": 20,' in kept
    halving = bandits.SequentialHalving(budget=given["budget"])
    assert json.dumps(dataclasses.asdict(halving)["budget"]) == "20"
