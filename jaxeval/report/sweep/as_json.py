"""The sensitivity of sweeps as JSON; docs/sensitivity.md describes it."""

from collections.abc import Sequence

from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report.plain import plain
from jaxeval.report.sweep.data import Sweep
from jaxeval.report.sweep.words import METRICS
from jaxeval.sensitivity import Analysis, groups
from jaxeval.sensitivity.groups import Averaged


def of_sweep(analysis: Analysis) -> dict[str, Json]:
    """Percent and percentage points."""
    return {
        **{name: getattr(analysis, name) for name in ("n", *METRICS)},
        "rel_at_k": plain(analysis.rel_at_k),
        "mean_at_k": plain(analysis.mean_at_k),
        "all_hyperparameters": plain(analysis.all_hyperparameters),
        "by_hyperparameter": plain(analysis.by_hyperparameter),
        "intervals": plain(analysis.intervals),
        "rope": analysis.rope,
        "convention": analysis.convention,
        "skipped_ks": list(analysis.skipped),
        "signature": text.versions(),
    }


def of_groups(averaged: Averaged, sweeps: Sequence[Sweep]) -> dict[str, Json]:
    """Averages over data sets, and the settings of the best runs."""
    return {
        "over": averaged.over,
        "groups": [
            {
                "labels": dict(group.labels),
                "sweeps": {name: sweeps[k].name for name, k in group.sweeps.items()},
                "means": plain(group.means),
                "best_systems": {
                    name: plain(groups.best_system(sweeps[k].scores, sweeps[k].axes))
                    for name, k in group.sweeps.items()
                },
            }
            for group in averaged.groups
        ],
        "contrasts": plain(averaged.contrasts),
    }
