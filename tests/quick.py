"""Compiles for one use: machine code is not optimised, which halves the time of compiling."""

import functools

import jax

_OPTIONS = {"xla_backend_optimization_level": 0}
jit = functools.partial(jax.jit, compiler_options=_OPTIONS)


def compiled(lowered: jax.stages.Lowered) -> jax.stages.Compiled:
    """The compiled program of a lowered function."""
    return lowered.compile(_OPTIONS)
