"""How the programs of tests are compiled: they run for moments, so that compiling is what counts.

Set before jax is imported. Scores of tests/golden are recorded with the same.
"""

import importlib.metadata
import os

_ENVIRONMENT = {
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",  # nobody reads where an operation was made
    # workers and the processes that tests start find what another one has compiled
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
}
_FLAGS = ["--xla_cpu_parallel_codegen_split_count=1"]  # one LLVM module a program
if importlib.metadata.version("jaxlib").startswith("0.9."):  # a flag that is unknown is fatal
    _FLAGS += ["--xla_cpu_use_fusion_emitters=false"]  # kernels without MLIR


def prepare() -> None:
    """Sets the environment of this process and of those that it starts."""
    os.environ.update(_ENVIRONMENT, XLA_FLAGS=" ".join(_FLAGS))
