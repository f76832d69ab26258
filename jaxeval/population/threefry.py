"""Random bits on CPUs: JAX's, drawn without its loop where arrays are large.

JAX lowers threefry to a loop on CPUs. In epochs of a language model whose masks are [35, 16, 32]
and larger, two devices at once so drew masks that differed from run to run (jaxlib 0.9.2; 22 of 25
epochs). Why is not known; XLA splits loops over arrays of this size among threads. Without JAX's
loop no epoch differed. Small arrays keep it, as it compiles faster.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import random
from jax.interpreters import mlir

from jaxeval.contracts import Array

_LARGE = 1 << 12  # elements; masks of 1,296 did not differ
_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_State = tuple[list[Array], list[Array], list[Array]]  # two words, three keys, both rotations


def hash_words(key_1: Array, key_2: Array, word_1: Array, word_2: Array) -> tuple[Array, ...]:
    """Returns two words hashed with 20 rounds of threefry (Salmon et al. 2011), all uint32."""
    keys = [key_1, key_2, key_1 ^ key_2 ^ np.uint32(0x1BD11BDA)]
    words = [word_1 + keys[0], word_2 + keys[1]]
    state: _State = words, keys[1:] + keys[:1], [jnp.array(r, jnp.uint32) for r in _ROTATIONS]
    if word_1.size < _LARGE:
        return tuple(lax.fori_loop(0, 5, _four_rounds, state)[0])
    fixed: list[Any] = [np.array(r, np.uint32) for r in _ROTATIONS]
    state = words, state[1], fixed
    for number in range(5):
        state = _four_rounds(number, state)
    return tuple(state[0])


def _four_rounds(number: Array | int, state: _State) -> _State:
    (a, b), keys, rotations = state
    for bits in rotations[0]:
        a = a + b
        b = a ^ ((b << bits) | (b >> (np.uint32(32) - bits)))
    b = b + keys[1] + jnp.asarray(number + 1, jnp.uint32)
    return [a + keys[0], b], keys[1:] + keys[:1], rotations[::-1]


def register() -> None:
    """Makes JAX lower threefry on CPUs by `hash_words`, for all programs that are yet to come."""
    lowering = mlir.lower_fun(hash_words, multiple_results=True)
    mlir.register_lowering(random.threefry2x32_p, lowering, platform="cpu")
