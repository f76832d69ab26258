"""What the commands read, and what they run on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import record

pytest.register_assert_rewrite("tests.golden.checking")  # shows which lines differ


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora, the space and the variants."""
    return record.prepare(tmp_path_factory.mktemp("golden") / "data")


@pytest.fixture(autouse=True)
def another_generator() -> Iterator[None]:
    """Not as recorded: what JAX_DEFAULT_PRNG_IMPL names, whose keys are larger and whose draws are
    others. A member's draws are of its seed alone, so that no score changes."""
    import jax

    usual = jax.config.jax_default_prng_impl
    jax.config.update("jax_default_prng_impl", "rbg")
    assert jax.random.key_data(jax.random.key(0)).shape == (4,)
    yield
    jax.config.update("jax_default_prng_impl", usual)


@pytest.fixture(autouse=True)
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As recorded: under vmap the last bits may depend on how many lanes a device has."""
    import jax

    from jaxeval.population import lanes

    mesh = lanes.make_mesh(jax.devices()[:1])
    monkeypatch.setattr(lanes, "make_mesh", lambda devices=None: mesh)
