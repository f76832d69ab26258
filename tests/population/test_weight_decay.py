"""Weight decay of some parameters."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.population import weight_decay

PARAMS = {"logits": {"kernel": jnp.array([2.0]), "bias": jnp.array([3.0])}, "words": jnp.ones(2)}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), {"logits": {"kernel": [1.2], "bias": [1.3]}, "words": [1.1, 1.1]}),
        (("logits/kernel",), {"logits": {"kernel": [1.2], "bias": [1.0]}, "words": [1.0, 1.0]}),
        (("kernel", "words"), {"logits": {"kernel": [1.2], "bias": [1.0]}, "words": [1.1, 1.1]}),
    ],
)
def test_named_parameters_decay(names: tuple[str, ...], expected: dict) -> None:
    """Dies if others decay, or a name stands for another parameter."""
    grads = {"logits": {"kernel": jnp.ones(1), "bias": jnp.ones(1)}, "words": jnp.ones(2)}
    decay = weight_decay.of(jnp.float32(0.1), names)
    updates, _ = decay.update(grads, decay.init(PARAMS), PARAMS)
    for path in (("logits", "kernel"), ("logits", "bias"), ("words",)):
        value, reference = updates, expected
        for key in path:
            value, reference = value[key], reference[key]
        np.testing.assert_allclose(value, reference, rtol=1e-6)


def test_a_name_that_nothing_has_is_refused() -> None:
    """Dies if a misspelt name silently decays nothing."""
    decay = weight_decay.of(0.1, ["kernels"])
    with pytest.raises(ConfigError, match="no parameter's name holds 'kernels'; there are logits"):
        decay.update(PARAMS, decay.init(PARAMS), PARAMS)
