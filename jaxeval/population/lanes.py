"""Spreads a function of one member over lanes: `map` or `vmap` on each of the devices.

Notation: S lanes, the leading axis of everything that belongs to members. Lanes are sharded over
the devices of a one-axis mesh. `map` runs a device's lanes one after the other: idle lanes cost
nothing, and a member's result does not depend on the number of lanes; best on a CPU. `vmap` runs
them in lock step; best on an accelerator.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxeval.contracts import Array, Tree

Mode = Literal["map", "vmap"]
_AXIS = "member"


def resolve(mode: Literal["auto", "map", "vmap"]) -> Mode:
    """Returns the mode; `auto` is `map` on the CPU and `vmap` on accelerators."""
    auto: Mode = "map" if jax.default_backend() == "cpu" else "vmap"
    return auto if mode == "auto" else mode


def make_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """Returns a mesh of all devices on one axis; Auto, as linen does not know explicit axes."""
    return Mesh(np.asarray(devices or jax.devices()), (_AXIS,), axis_types=(AxisType.Auto,))


def round_up(lanes: int, mesh: Mesh) -> int:
    """Returns the next number of lanes that the devices share evenly."""
    return -(-lanes // mesh.size) * mesh.size


# host arrays that are on devices, and their copies there, by (id of the host's, mesh); both weak,
# so that what no program reads is freed
_host: weakref.WeakValueDictionary[tuple[int, Mesh], np.ndarray] = weakref.WeakValueDictionary()
_placed: weakref.WeakValueDictionary[tuple[int, Mesh], jax.Array] = weakref.WeakValueDictionary()


def replicate(tree: Tree, mesh: Mesh) -> Tree:
    """Places leaves on every device; immutable host arrays only once."""
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


def fetch(tree: Tree) -> Tree:
    """Copies leaves [S, ...] to the host, with lanes of other processes."""
    if jax.process_count() == 1:
        return jax.device_get(tree)
    return multihost_utils.process_allgather(tree, tiled=True)


def from_first_process(flags: Sequence[bool]) -> list[bool]:
    """Returns in all processes the flags of the first one."""
    if jax.process_count() == 1:
        return [*flags]
    return [*map(bool, multihost_utils.broadcast_one_to_all(np.array(flags)))]


def spread(
    function: Callable[..., Tree],
    mesh: Mesh,
    mode: Mode,
    donate: bool = False,
    brief: bool = False,
) -> Callable[..., Tree]:
    """Turns `function(shared, *each)` of one member into a jitted one of leaves [S, ...].

    With `donate` the first of `each` is overwritten. A `brief` function runs for so short a time
    that on CPUs its machine code is optimised less, which saves a third of compiling.
    """

    def on_device(shared: Tree, each: tuple) -> Tree:
        if mode == "vmap":
            return jax.vmap(lambda lane: function(shared, *lane))(each)
        return lax.map(lambda lane: function(shared, *lane), each)

    lane = PartitionSpec(_AXIS)
    specs = (PartitionSpec(), PartitionSpec(_AXIS))
    spread_out = jax.shard_map(
        on_device, mesh=mesh, in_specs=specs, out_specs=lane, check_vma=False
    )

    def call(shared: Tree, first: Tree, *others: Tree) -> Tree:
        return spread_out(shared, (first, *others))

    return jax.jit(
        call, donate_argnums=(1,) if donate else (), compiler_options=_options(mesh, brief)
    )


def _options(mesh: Mesh, brief: bool) -> dict[str, int] | None:
    """Returns the options of XLA, or None where its own or the user's level is to stay."""
    if not brief or mesh.devices.flat[0].platform != "cpu":
        return None
    lower = jax.config.read("jax_disable_most_optimizations")  # the level is 0 already
    return None if lower else {"xla_backend_optimization_level": 1}


def choose(mode: Mode, flag: Array, compute: Callable[[], Tree], otherwise: Tree) -> Tree:
    """Returns `compute()` in lanes whose flag is set, else `otherwise`; used inside `spread`.

    Under `map`, `lax.cond` skips the computation. Under `vmap` it would be a selection anyway, and
    a harmful one: it gives a lane axis to all that `compute` closes over, the corpus included.
    """
    if mode == "map":
        return lax.cond(flag, compute, lambda: otherwise)
    return jax.tree.map(lambda new, old: jnp.where(flag, new, old), compute(), otherwise)


def balance(active: Sequence[bool], devices: int) -> list[int] | None:
    """Returns an order of lanes that shares the active ones evenly, or None if they are even.

    Idle lanes cost nothing under `map`, so a device with fewer active ones would wait.
    """
    flags = np.asarray(active, bool).reshape(devices, -1)
    if np.ptp(flags.sum(axis=1)) <= 1:
        return None
    lanes = np.argsort(~flags.reshape(-1), kind="stable")
    return [int(lane) for device in range(devices) for lane in lanes[device::devices]]
