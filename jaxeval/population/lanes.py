"""Spreads a function of one member over lanes: `map` or `vmap` on each of the devices.

Notation: S lanes, the leading axis of everything that belongs to members. Lanes are sharded over
all devices of a one-axis mesh ('member',). `map` runs a device's lanes one after the other: its
idle lanes cost nothing, and a member's result does not depend on how many lanes there are; best on
a CPU. `vmap` runs them in lock step; best on an accelerator.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxeval.contracts import Array, Tree

Mode = Literal["map", "vmap"]
_AXIS = "member"


def resolve(mode: Literal["auto", "map", "vmap"]) -> Mode:
    """The mode itself; `auto` is `map` on the CPU and `vmap` on accelerators."""
    auto: Mode = "map" if jax.default_backend() == "cpu" else "vmap"
    return auto if mode == "auto" else mode


def make_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """All devices on one axis; Auto, because linen does not know explicit axes."""
    return Mesh(np.asarray(devices or jax.devices()), (_AXIS,), axis_types=(AxisType.Auto,))


def round_up(lanes: int, mesh: Mesh) -> int:
    """The next number of lanes that the devices share evenly."""
    return -(-lanes // mesh.size) * mesh.size


# arrays of the host that lie on devices, and those there, by (id of the host's, mesh); both weak:
# what no program reads any more is freed
_host: weakref.WeakValueDictionary[tuple[int, Mesh], np.ndarray] = weakref.WeakValueDictionary()
_placed: weakref.WeakValueDictionary[tuple[int, Mesh], jax.Array] = weakref.WeakValueDictionary()


def replicate(tree: Tree, mesh: Mesh) -> Tree:
    """Places what all members share on every device, arrays of the host once: they stay as are."""
    everywhere = NamedSharding(mesh, PartitionSpec())

    def placed(leaf: Array | np.ndarray) -> jax.Array:
        if not isinstance(leaf, np.ndarray):
            return jax.device_put(leaf, everywhere)
        key = id(leaf), mesh
        array = _placed.get(key)
        if array is None or _host.get(key) is not leaf:  # an id may be used again
            array = jax.device_put(leaf, everywhere)
            _host[key], _placed[key] = leaf, array
        return array

    return jax.tree.map(placed, tree)


def shard(tree: Tree, mesh: Mesh) -> Tree:
    """Places leaves [S, ...] so that each device holds its lanes."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec(_AXIS)))


def spread(
    function: Callable[..., Tree], mesh: Mesh, mode: Mode, donate: bool = False
) -> Callable[..., Tree]:
    """`function(shared, *each)` of one member -> the same, jitted, of S lanes: leaves [S, ...].

    `donate`: the first of `each` is overwritten.
    """

    def on_device(shared: Tree, each: tuple) -> Tree:
        if mode == "vmap":
            return jax.vmap(lambda lane: function(shared, *lane))(each)
        return lax.map(lambda lane: function(shared, *lane), each)

    lane, specs = PartitionSpec(_AXIS), (PartitionSpec(), PartitionSpec(_AXIS))
    spread_out = jax.shard_map(
        on_device, mesh=mesh, in_specs=specs, out_specs=lane, check_vma=False
    )

    def call(shared: Tree, first: Tree, *others: Tree) -> Tree:
        return spread_out(shared, (first, *others))

    return jax.jit(call, donate_argnums=(1,) if donate else ())


def choose(mode: Mode, flag: Array, compute: Callable[[], Tree], otherwise: Tree) -> Tree:
    """`compute()` in lanes whose flag is set, else `otherwise`; used inside `spread`.

    Under `map` what is not needed is not computed. Under `vmap` `lax.cond` would be a selection
    all the same, and a harmful one: it gives all that `compute` closes over a lane axis, the
    shared corpus and the index of an inner `lax.switch` included.
    """
    if mode == "map":
        return lax.cond(flag, compute, lambda: otherwise)
    return jax.tree.map(lambda new, old: jnp.where(flag, new, old), compute(), otherwise)


def balance(active: Sequence[bool], devices: int) -> list[int] | None:
    """An order of the lanes that shares the active ones evenly; None if they are even already.

    Lanes of stopped members cost nothing under `map`, so a device left with fewer active lanes
    would wait for the others.
    """
    flags = np.asarray(active, bool).reshape(devices, -1)
    if np.ptp(flags.sum(axis=1)) <= 1:
        return None
    lanes = np.argsort(~flags.reshape(-1), kind="stable")
    return [int(lane) for device in range(devices) for lane in lanes[device::devices]]
