"""The base class of all models: Flax's, quicker to trace."""

from collections.abc import Callable
from typing import Any

from flax import linen as nn


class Module(nn.Module):
    """A Flax module that does not trace an initialiser where nothing is initialised."""

    def param(self, name: str, init_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A parameter, as Flax declares it.

        Where it exists, Flax compares its shape with what the initialiser would give, and traces
        the initialiser for that: a quarter of the time in which a transformer is traced. The
        shapes of our parameters come from the initialisers of the same module.
        """
        if not self.is_initializing() and self.has_variable("params", name):
            return self.get_variable("params", name)
        return super().param(name, init_fn, *args, **kwargs)
