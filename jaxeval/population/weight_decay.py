"""Weight decay as a penalty in the gradients, of all parameters or of some of them."""

from collections.abc import Sequence

import jax
import optax

from jaxeval.contracts import Tree
from jaxeval.errors import ConfigError


def of(l2: jax.Array | float, names: Sequence[str]) -> optax.GradientTransformation:
    """Adds l2 * weight to gradients.

    Args:
      names: parts of the paths of those parameters, such as "logits/kernel"; none: all of them.

    Raises:
      ConfigError: at the first update, a name that is in no path.
    """
    if not names:
        return optax.add_decayed_weights(l2)

    def update(grads: Tree, params: Tree | None) -> Tree:
        each = jax.tree_util.tree_leaves_with_path(params)
        paths = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in each]
        for name in names:
            if not any(name in path for path in paths):
                raise ConfigError(
                    f"training.optimiser.l2_parameters: no parameter's name holds {name!r}; there "
                    f"are {', '.join(paths)}"
                )
        decays = [any(name in path for name in names) for path in paths]
        leaves, structure = jax.tree.flatten(grads)
        weights = (weight for _, weight in each)
        decayed = [
            grad + l2 * weight if decay else grad
            for grad, weight, decay in zip(leaves, weights, decays, strict=True)
        ]
        return jax.tree.unflatten(structure, decayed)

    return optax.stateless(update)
