"""Thompson sampling: models are drawn by the probability that they are the best."""

import dataclasses

import numpy as np

from jaxeval.bandits.fixed_confidence import Confident, Moments

_TINY = 1e-300  # so that a challenger exists when the leader is certain


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchThompson(Confident):
    """Each slot of a batch is drawn by the probability of being the best, repeats allowed.

    BTS of Moss et al. (2019, section 4.3).
    """

    batch_size: int = 4

    def choose(
        self,
        moments: Moments,
        probabilities: np.ndarray,
        pending: np.ndarray,
        uniforms: np.ndarray,
    ) -> np.ndarray:
        """Independent draws; what is pending changes nothing."""
        return _drawn(probabilities[..., None, :], uniforms[..., 0])


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopTwoThompson(Confident):
    """Leader or challenger: drawn by probability; with probability 1/2 again until another comes.

    TTTS of Russo (2016), as in Moss et al. (2019, section 4.2), for `batch_size` 1. For larger
    batches each slot is drawn top-two, and what is pending or already in the batch counts as
    evaluated at the mean of its model: its posterior narrows, and the batch spreads to where
    doubt is left.
    """

    def choose(
        self,
        moments: Moments,
        probabilities: np.ndarray,
        pending: np.ndarray,
        uniforms: np.ndarray,
    ) -> np.ndarray:
        """One slot after the other."""
        places = np.arange(probabilities.shape[-1])
        planned, chosen = pending, []
        for slot in range(uniforms.shape[-2]):
            if np.any(planned):
                believed = moments._replace(counts=moments.counts + planned)
                probabilities = self.probabilities(believed)
            u = uniforms[..., slot, :]
            leader = _drawn(probabilities, u[..., 0])
            others = np.where(places == leader[..., None], 0.0, probabilities + _TINY)
            arm = np.where(u[..., 1] < 0.5, leader, _drawn(others, u[..., 2]))
            planned = planned + (places == arm[..., None])
            chosen.append(arm)
        return np.stack(chosen, axis=-1)


def _drawn(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Places drawn with probability proportional to weights [..., N]."""
    upto = np.cumsum(weights, axis=-1)
    return np.sum(upto <= uniforms[..., None] * upto[..., -1:], axis=-1)
