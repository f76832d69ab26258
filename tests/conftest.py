"""Set-up of all tests: four host devices on the CPU, quick compilation, strict broadcasting."""

import os
import sys

# a fresh environment has no bytecode; where writing it is switched off, each of the processes that
# tests start would compile all of jax's sources
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
# a test's programs run for moments: compiling is what takes time, and need not optimise. Workers
# and the processes that tests start find what another one has compiled.
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

from jaxeval import backend  # noqa: E402  (the environment must be set before)

backend.prepare()

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")
