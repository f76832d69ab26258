"""Set-up of all tests: four host devices on the CPU, strict broadcasting."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "4"

from jaxeval import backend

backend.prepare()

import jax  # noqa: E402  (the environment must be set before)

jax.config.update("jax_numpy_rank_promotion", "raise")
