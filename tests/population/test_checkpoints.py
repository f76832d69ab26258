"""Checkpoints that cannot be written."""

import resource
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import RunError
from jaxeval.population import checkpoints, seats


def test_a_full_disk_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """Dies if the writer's threads print their tracebacks, or the error is a page long."""
    state = {"params": np.random.default_rng(0).random((2, 200_000)).astype(np.float32)}
    saved = checkpoints.Checkpoints(tmp_path / "c")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(RunError) as caught:  # here, or when the writer is waited for
            saved.save(checkpoints.Snapshot(1, state, [seats.Seat(), seats.Seat()]))
            saved.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value) == (
        f"no checkpoint could be written to {tmp_path / 'c'} (File too large); what is recorded "
        "is kept: make room and run the same command again"
    )
    assert capfd.readouterr().err == ""
