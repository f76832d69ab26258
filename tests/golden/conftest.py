"""What the commands read, and what they run on."""

from pathlib import Path

import pytest

from tests.golden import record

pytest.register_assert_rewrite("tests.golden.checking")  # shows which lines differ


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora, the space and the variants."""
    return record.prepare(tmp_path_factory.mktemp("golden") / "data")


@pytest.fixture(autouse=True)
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As recorded: under vmap the last bits may depend on how many lanes a device has."""
    import jax

    from jaxeval.population import lanes

    mesh = lanes.make_mesh(jax.devices()[:1])
    monkeypatch.setattr(lanes, "make_mesh", lambda devices=None: mesh)
