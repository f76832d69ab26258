"""Proposals by BoTorch (uv pip install botorch): its process, its acquisition, as of our tuner.

Its SingleTaskGP with default priors sees settings as ours does, inactive hyperparameters imputed,
and its qLogNoisyExpectedImprovement is searched as ours is, over settings as they would be
trained: what differs is the model and the acquisition.
"""

import contextlib
import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.tuning import candidates, gp
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import History

_DRAWS = 128
_NEAR = 4  # evaluated settings whose surroundings are searched


def propose(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """The next settings; arguments and result as of `gp.propose`.

    Failures are left out: the model is of scores. The first settings are those of method gp.

    Raises:
      ConfigError: BoTorch is not installed.
    """
    torch = _torch()
    first = len(history.evaluations)
    scored = [e for e in history.evaluations if e.scores]
    early = count if len(scored) < 2 else min(count, max(0, gp._INITIAL - first))
    proposed = candidates.sobol(space, history, early, seed)
    for values in proposed:
        history = history.propose(values, ())
    if len(proposed) == count or early == count:
        return proposed
    sign = 1.0 if history.higher_is_better else -1.0
    means = np.array([sign * statistics.fmean(setting.scores) for setting in scored])
    places = encoder(space).places([setting.values for setting in scored])
    features = torch.tensor(encoder(space).features(places))
    with _seeded([seed]):
        model = _fitted(features, torch.tensor(means)[:, None])
    settings = history.evaluations
    taken = encoder(space).places([setting.values for setting in settings])
    running = taken[[not e.ended for e in settings]]
    near = places[np.argsort(-means, kind="stable")[:_NEAR]]
    for number in range(first + len(proposed), first + count):
        pending = encoder(space).features(running)
        value = _acquisition(space, model, features, pending, [seed, number])
        row = candidates.maximise(space, value, near, taken, [seed, number])
        if row is None:
            break
        taken, running = np.vstack([taken, row]), np.vstack([running, row])
        proposed += encoder(space).settings(row[None])
    return proposed


def _torch() -> Any:
    try:
        import botorch  # noqa: F401
        import torch
    except ImportError as error:
        raise ConfigError(
            f"method botorch: needs {error.name}, which is not installed: uv pip install botorch"
        ) from None
    return torch


@contextlib.contextmanager
def _seeded(stream: list[int]) -> Iterator[int]:
    """A seed, which torch's own random numbers have meanwhile: fits and baselines draw some.

    What is said of jitter, and of scores without spread, is not for people.
    """
    import torch

    seed = int(np.random.default_rng(stream).integers(2**31))
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield seed


def _fitted(features: Any, targets: Any) -> Any:
    """Its process with default priors, inputs in the unit cube, targets standardised."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(features, targets)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _acquisition(
    space: Space, model: Any, features: Any, pending: np.ndarray, stream: list[int]
) -> candidates.Acquisition:
    """qLogNEI of places, given what runs."""
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.sampling import SobolQMCNormalSampler

    with _seeded(stream) as seed:
        acquisition = qLogNoisyExpectedImprovement(
            model,
            features,
            sampler=SobolQMCNormalSampler(torch.Size([_DRAWS]), seed=seed),
            X_pending=torch.tensor(pending) if len(pending) else None,
            prune_baseline=True,
        )

    def value(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = torch.tensor(encoder(space).features(rows))[:, None]
            values: np.ndarray = acquisition(points).numpy()
        return values

    return value
