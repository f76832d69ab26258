"""Set-up of all tests: four host devices on the CPU, quick compilation, strict broadcasting."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
# a test's programs run for moments: compiling is what takes time, and need not optimise. Workers
# and the processes that tests start find what another one has compiled.
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

from jaxeval import backend

backend.prepare()

import jax  # noqa: E402  (the environment must be set before)

jax.config.update("jax_numpy_rank_promotion", "raise")
