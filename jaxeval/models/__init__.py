"""Flax modules and the pure functions under them: cells, recurrence, CRF, character encoders."""

from collections.abc import Callable
from typing import Any

from flax import linen as nn

Weights = dict[str, Any]  # arrays by name, or of a part by its name


class Module(nn.Module):
    """A Flax module that does not trace an initialiser where nothing is initialised.

    Flax traces it to compare shapes: a quarter of the time in which a transformer is traced.
    """

    def param(self, name: str, init_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A parameter, as Flax declares it."""
        if not self.is_initializing() and self.has_variable("params", name):
            return self.get_variable("params", name)
        return super().param(name, init_fn, *args, **kwargs)
