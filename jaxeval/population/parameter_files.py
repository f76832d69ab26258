"""Trained parameters on disk: one file of arrays per member, readable with numpy alone."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np

from jaxeval import files
from jaxeval.contracts import Tree
from jaxeval.errors import DataError, parsing


def _names(params: Tree) -> list[str]:
    """The name of each leaf: the keys that lead to it, joined by "/"."""
    paths = jax.tree_util.tree_flatten_with_path(params)[0]
    return ["/".join(str(key.key) for key in path) for path, _ in paths]


def save(path: Path, params: Tree) -> None:
    """Writes nested dicts of arrays atomically."""
    leaves = map(np.asarray, jax.tree.leaves(jax.device_get(params)))
    with files.replacing(path, "wb") as stream:
        np.savez(stream, allow_pickle=False, **dict(zip(_names(params), leaves, strict=True)))


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads the arrays that `save` wrote, by name. Raises DataError if it is no such file."""
    with parsing("no readable parameters", path, passing=()):
        if not zipfile.is_zipfile(path):
            raise ValueError("not an .npz file")
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def fit(path: Path, arrays: Mapping[str, np.ndarray], like: Tree) -> Tree:
    """Returns arrays by name as the tree that they were.

    `like` is the expected tree of shapes and dtypes. Raises DataError, naming the path, if the
    arrays are of another model.
    """
    leaves, structure = jax.tree.flatten(like)
    named = dict(zip(_names(like), leaves, strict=True))
    shapes, found = (
        {name: f"{leaf.dtype}{[*leaf.shape]}" for name, leaf in each.items()}
        for each in (named, arrays)
    )
    for name in sorted({*shapes, *found}):
        shape, other = (each.get(name, "nothing") for each in (shapes, found))
        if shape != other:
            raise DataError(
                f"parameters of another model: {name} is {other}, expected {shape}", path
            )
    return jax.tree.unflatten(structure, [arrays[name] for name in shapes])
