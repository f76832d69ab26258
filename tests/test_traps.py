"""Known traps of the platform, and things that must not stand in the source."""

import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from jaxeval import backend
from jaxeval.errors import RunError

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    r"\.at\[[^\]]*1:[^\]]*\]\.set\(": "a shift by .at[].set gives wrong values under jit",
    r"\bpickle\b|allow_pickle=True": "untrusted input is never unpickled",
    r"(?<![\w.])(eval|exec)\(": "input is never executed",
    r"np\.random\.(?!default_rng|Generator)": "randomness comes from a seeded generator",
}


def test_source() -> None:
    """Dies if a forbidden construct is written."""
    files = [*(ROOT / "jaxeval").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert len(files) > 40
    for pattern, why in FORBIDDEN.items():
        assert [str(f) for f in files if re.search(pattern, f.read_text())] == [], why


def test_a_population_of_orthogonal_matrices_is_drawn() -> None:
    """Dies (by its time limit) on a jax whose batched QR deadlocks on few cores."""
    code = """
import jax
init = jax.nn.initializers.orthogonal()
def draw(key):
    return [init(k, (128, 128)) for k in jax.random.split(key, 4)]
keys = jax.random.split(jax.random.key(0), 64)
print(len(jax.block_until_ready(jax.jit(jax.vmap(draw))(keys))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "4", done.stderr


@pytest.mark.parametrize(
    ("name", "value", "text", "said"),
    [
        ("jax_enable_x64", True, "true", "expected false, got"),
        ("jax_numpy_dtype_promotion", "strict", "strict", "expected standard, got strict"),
        ("jax_random_seed_offset", 7, "7", "expected 0, got 7"),
    ],
)
def test_settings_that_change_scores_are_refused(
    name: str, value: object, text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting of JAX gives other scores, by environment or code; or if its usual value
    is refused."""
    usual = jax.config.values[name]
    jax.config.update(name, value)
    try:
        with pytest.raises(RunError, match=f"{name.upper()}, or jax.config.{name}: {said}"):
            backend.prepare()
    finally:
        jax.config.update(name, usual)
    monkeypatch.setenv(name.upper(), text)
    backend._check_settings()  # the environment was read when jax was imported
    monkeypatch.delitem(sys.modules, "jax")
    with pytest.raises(RunError, match=said):
        backend.prepare()
    monkeypatch.setenv(name.upper(), str(usual).upper())
    backend._check_settings()


@pytest.mark.parametrize("version", ["0.10.0", "0.10.2", "0.11.0", "0.11.1"])
def test_bad_versions_are_refused_by_name(version: str) -> None:
    """Dies if the start-up check lets a deadlocking or quadratic jax through, or no other."""
    with pytest.raises(RunError, match=re.escape(version)):
        backend._check_version(version)
    for good in ("0.9.2", "0.11.2", "0.12.0.1", "0.100.0"):
        backend._check_version(good)
