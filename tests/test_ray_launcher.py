"""`--launch ray` on a cluster of three nodes on this machine, of which one is killed."""

import importlib.util
import threading
from pathlib import Path

import pytest

from jaxeval import launchers
from jaxeval.errors import RunError
from tests import launched, processes
from tests.verbs import train, tune

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="no Ray")


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_node_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a task of a lost node is not run elsewhere, a score is another than that of one
    process, or what pauses at a rung is lost."""
    long = [*launched.WORDS, "training.epochs=1500", "training.checkpoint_every=10"]
    assert train([*long, "--out", str(tmp_path / "one")]) == 0
    folder = tmp_path / "jobs"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # read at import
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**small, "num_cpus": 0})
    try:
        nodes = [cluster.add_node(**small) for _ in range(2)]

        def kill() -> None:
            launched.wait_for_epochs(folder, 20)
            cluster.remove_node(nodes[0], allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        words = [*long, "--out", str(folder), "--launch", f"ray:{cluster.address}"]
        assert train(words) == 0
        killer.join()
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        assert launched.rows(folder) == launched.rows(tmp_path / "one")
        assert tune(launched.halved(tmp_path, f"ray:{cluster.address}")) == 0
        assert any(e.stopped for e in launched.searched(tmp_path / "ray"))
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_cluster_that_is_not_there() -> None:
    """Dies if it is waited for: Ray tries for minutes."""
    port, _ = processes.free_ports()
    with pytest.raises(RunError, match=f"^--launch ray:127.0.0.1:{port}: .*refused$"):
        launchers.prepare(f"ray:127.0.0.1:{port}")
