"""Compiles for one use: machine code is not optimised, which halves the time of compiling."""

import functools

import jax

jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
