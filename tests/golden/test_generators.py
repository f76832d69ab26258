"""Recorded scores under another default generator of JAX: draws are of a member's seed alone."""

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from tests.golden import checking

# its keys are larger: hashes of their words would fail, all other draws would differ
OTHER = "rbg"


@pytest.fixture
def another_default() -> Iterator[None]:
    """As JAX_DEFAULT_PRNG_IMPL in the environment."""
    jax.config.update("jax_default_prng_impl", OTHER)
    yield
    jax.config.update("jax_default_prng_impl", "threefry2x32")


@pytest.mark.usefixtures("another_default")
@pytest.mark.parametrize("command", ["language, lstm, map", "seq2seq, attentive lstm, map"])
def test_scores_are_those_of_the_usual_one(command: str, data: Path, tmp_path: Path) -> None:
    """Dies if any draw of a training (weights, order, masks) is by JAX's default generator."""
    assert jax.random.key_data(jax.random.key(0)).shape == (4,)
    checking.check(command, data, tmp_path)
