"""Dropout with traced rates; Flax needs a Python number, and so one compilation per rate.

JAX's generator draws sixteen bits per element of a mask. A hash computes them from row and column
numbers alone: for window perceptrons, where JAX's generator takes a quarter of a step, and for
models whose members differ in size, where neither padded units nor cut batches may matter.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.config import fields, reading
from jaxeval.contracts import Array

_PREFIX = "dropout_"  # of the names of rates among hyperparameters
_GOLDEN = np.uint32(0x9E3779B9)
_SITES, _LAYERS = 6, 128  # sites and layers in a block of mask numbers


@reading.settings
class DropoutSettings:
    """Dropout; a site with rate 0 draws no mask, the rates of the others are traced."""

    kind: Annotated[
        Literal["none", "naive", "variational"],
        fields.about("variational: one mask for all words; naive: one per word"),
    ] = "variational"

    @property
    def unused(self) -> frozenset[str]:
        """Rates that no member has: all, if the kind is none."""
        sites = reading.get_fields(self) if self.kind == "none" else ()
        return frozenset(map(rate_name, sites))


def site(name: str) -> fields.Traced:
    """Marks a setting as the dropout rate of a site."""
    return fields.dropout(rate_name(name))


def rate_name(site: str) -> str:
    """Returns the name of the hyperparameter that holds the rate of a site."""
    return f"{_PREFIX}{site}"


def rates(hparams: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the dropout rates among hyperparameters, by site."""
    return {n.removeprefix(_PREFIX): v for n, v in hparams.items() if n.startswith(_PREFIX)}


def _mask_number(site: int, layer: int) -> int:
    """Returns the number of the mask of a site (from 0) in a layer.

    Frozen, so that masks stay equal when a site is appended: the first six sites have the numbers
    site + 6 layer; later sites follow in blocks after the last possible layer.
    """
    block, place = divmod(site, _SITES)
    return block * _SITES * _LAYERS + place + _SITES * layer


def _mix(x: Array) -> Array:
    """A bijection of 32-bit numbers whose outputs look random: murmur3's finaliser (Appleby)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def words(key: Array) -> Array:
    """The two words [2] uint32 of a threefry key, for `bits`; the key is consumed."""
    return jax.random.key_data(key).astype(jnp.uint32)


def _fold_in(words: Array, number: Array | int) -> Array:
    """Returns other words for every number."""
    return _mix(words + _mix(jnp.asarray(number).astype(jnp.uint32) * _GOLDEN + 3))


@jax.jit  # traced once for all masks and weights of a shape
def bits(words: Array, rows: Array, columns: Array) -> Array:
    """Random bits [rows, columns] uint32 that depend only on words, row and column numbers."""
    first, second = words
    by_row = _mix(first ^ _mix(rows.astype(jnp.uint32) * _GOLDEN + 1))
    by_column = _mix(second ^ _mix(columns.astype(jnp.uint32) * _GOLDEN + 2))
    return _mix(by_row[:, None] + by_column[None])


def _keeps(bits: Array, rate: Array | float, count: int) -> Array:
    """Mask of what stays; bits are uniform below 2**count, to which the rate is rounded."""
    return bits < jnp.round((1.0 - rate) * (1 << count)).astype(jnp.uint32)


def _mask(
    key: Array, rate: Array, shape: tuple[int, ...], inverted: bool = True, hashed: bool = False
) -> Array:
    """A float32 mask: 0 with probability `rate`, else 1 / (1 - rate) (inverted) or 1.

    A rate of 0 gives exact ones. The key is consumed.
    """
    if hashed:
        rows = jnp.arange(math.prod(shape[:-1]))
        columns = jnp.arange(shape[-1])
        keeps = _keeps(bits(words(key), rows, columns).reshape(shape) >> 8, rate, 24)
    else:
        keeps = _keeps(jax.random.bits(key, shape, jnp.uint16).astype(jnp.uint32), rate, 16)
    return jnp.where(keeps, 1.0 / (1.0 - rate) if inverted else jnp.ones_like(rate), 0.0)


@dataclasses.dataclass(eq=False)
class KeyedDropout:
    """The dropout of one forward pass; every mask has a key of its own."""

    rates: Mapping[str, Array]  # by site; a site without a rate drops nothing and costs nothing
    key: Array | None  # of this pass, consumed; None at evaluation, when nothing is dropped
    _: dataclasses.KW_ONLY
    sites: Sequence[str] = ()  # masks are numbered by site and layer; without sites as drawn
    variational: bool = False  # `steps` drops the same units at all time steps
    inverted: bool = True  # scales by 1 / (1 - rate) in training, else by 1 - rate at evaluation
    hashed: bool = False  # keys and masks come from the hash
    drawn: int = 0  # masks so far

    def next_key(self, number: int | None = None) -> Array:
        """Returns an unused key; without a number, numbered in drawing order."""
        assert self.key is not None
        if number is None:
            self.drawn = number = self.drawn + 1
        if not self.hashed:
            return jax.random.fold_in(self.key, number)
        made = _fold_in(words(self.key), number)
        return jax.random.wrap_key_data(made, impl=jax.random.key_impl(self.key))

    def drops(self, site: str) -> bool:
        """True if this pass changes anything at a site."""
        return site in self.rates and (self.key is not None or not self.inverted)

    def mask(self, site: str, shape: tuple[int, ...], layer: int = 0) -> Array | None:
        """A mask of the shape, or None if nothing is dropped."""
        if not self.drops(site):
            return None
        rate = self.rates[site]
        if self.key is None:
            return jnp.full(shape, 1.0 - rate)
        number = _mask_number(self.sites.index(site), layer) if self.sites else None
        return _mask(self.next_key(number), rate, shape, self.inverted, self.hashed)

    def elements(self, site: str, x: Array, layer: int = 0) -> Array:
        """Applies an independent mask entry to every element of x."""
        drawn = self.mask(site, x.shape, layer)
        return x if drawn is None else x * drawn

    def steps(self, site: str, x: Array) -> Array:
        """Applies one mask [B, D] to all steps of x [T, B, D] (variational), or one per step."""
        drawn = self.mask(site, (1, *x.shape[1:]) if self.variational else x.shape)
        return x if drawn is None else x * drawn


class HashedDropout(NamedTuple):
    """The dropout of one pass with hashed masks; without words it drops nothing."""

    words: Array | None = None  # [2] uint32
    rate: Array | float = 0.0
    rows: Array | None = None  # [B] positions of the rows in their batch; None: in order

    def at(self, *numbers: int | Array) -> "HashedDropout":
        """The dropout of a site, given by numbers."""
        words = self.words
        if words is not None:
            for number in numbers:
                words = _fold_in(words, number)
        return self._replace(words=words)

    def apply(self, x: Array, rows_axis: int = 0, numbers: Array | None = None) -> Array:
        """Drops units of x, [B, T, n] or [T, B, n], by position r T + t and unit number [n]."""
        if self.words is None:
            return x
        steps = x.shape[1 - rows_axis]
        rows = jnp.arange(x.shape[rows_axis]) if self.rows is None else self.rows
        positions = rows[:, None] * steps + jnp.arange(steps)[None]
        positions = positions.T if rows_axis else positions
        numbers = jnp.arange(x.shape[-1]) if numbers is None else numbers
        drawn = bits(self.words, positions.reshape(-1), numbers).reshape(x.shape)
        return jnp.where(_keeps(drawn >> 8, self.rate, 24), x / (1.0 - self.rate), 0.0)
