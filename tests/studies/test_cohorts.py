"""Which trials share a program, with which arguments, under which ids; nothing is trained."""

import dataclasses
from typing import Any

import pytest

from jaxeval.config import fields
from jaxeval.population import Plateau, optimisers
from jaxeval.studies import cohorts, costs, padding, prepared
from tests.studies import toy_kind
from tests.studies.toy_kind import config, planned


def _of(*configs: Any) -> list[cohorts.Cohort]:
    """Cohorts of configs, each with seed 1."""
    return planned(
        [trial for config in configs for trial in prepared.seeds_by_splits(config, [1])]
    )


def _adam(**changes: Any) -> optimisers.Optimiser:
    return optimisers.Optimiser(name="adam", **changes)


TOGETHER = {
    "a traced value": (config(), config({"rate": 0.4})),
    "learning rates": (config(), config(optimiser=_adam(hyperparameters={"learning_rate": 0.1}))),
    "warm-ups": (config(optimiser=_adam(warmup=32.0)), config(optimiser=_adam(warmup=64.0))),
    "plateaus": (config(plateau=Plateau(patience=2)), config(plateau=Plateau(patience=3))),
    "rates of the same site": (config({"noise": 0.1}), config({"noise": 0.2})),
    "names": (config(), dataclasses.replace(config({"rate": 0.4}), name="other")),
}
IN_A_SWEEP = {  # together there, else apart
    "a rate and none": (config(), config({"smoothing": 0.4})),
    "a warm-up and none": (config(), config(optimiser=_adam(warmup=64.0))),
    "a plateau and none": (config(), config(plateau=Plateau(patience=2))),
}
APART = {
    "a static value": (config(), config({"width": 9})),
    "epochs": (config(), config(epochs=5)),
    "optimisers": (config(), config(optimiser=optimisers.Optimiser(name="sgd"))),
    "a rate and none, of a site that draws": (config(), config({"noise": 0.1})),
    "l2 and none": (config(), config(optimiser=_adam(l2=0.1))),
    "data": (config(), dataclasses.replace(config(), data=toy_kind.Data(kept_out=1))),
    "the latest decay": (config(plateau=Plateau()), config(plateau=Plateau(latest=3))),
}


def _shapes(*configs: Any) -> list[costs.Shape]:
    """What programs of a sweep's runs must hold."""
    loader = prepared.Loader()
    return [cohorts.shape_of(loader.prepare(config)) for config in configs]


@pytest.mark.parametrize("case", TOGETHER)
def test_traced_values_share_a_program(case: str) -> None:
    """Dies if a continuous value compiles for each of its values."""
    (cohort,) = _of(*TOGETHER[case])
    assert len(cohort.entries) == len(set(cohort.members)) == 2
    first, second = _shapes(*TOGETHER[case])
    assert first.joined(second) == first


@pytest.mark.parametrize("case", APART)
def test_static_values_do_not(case: str) -> None:
    """Dies if a member is trained with another's program."""
    first, second = _of(*APART[case])
    assert first.program != second.program
    shape, changed = _shapes(*APART[case])
    assert shape.joined(changed) is None


@pytest.mark.parametrize("case", IN_A_SWEEP)
def test_neutral_values_share_a_program_in_a_sweep_alone(case: str) -> None:
    """Dies if a config's arguments, and so its last bits, depend on what is trained beside it; or
    if a sweep compiles for every scheduler."""
    alone, beside = _of(IN_A_SWEEP[case][0]), _of(*IN_A_SWEEP[case])
    assert len(beside) == 2 and alone[0].members[0] in [c.members[0] for c in beside]
    first, second = _shapes(*IN_A_SWEEP[case])
    assert first.joined(second) == first


def _swept(*configs: Any) -> list[dict[str, float]]:
    """Arguments of the members of a sweep's only cohort."""
    loader = prepared.Loader()
    trials = [trial for config in configs for trial in prepared.seeds_by_splits(config, [1])]
    entries = cohorts.entries(trials, loader)
    shape = cohorts.shape_of(entries[0].prepared)
    whole = costs.Estimate((*range(len(trials)),), shape, 64, 1.0, 1.0, 0.0, 0.0)
    (cohort,) = padding.by_estimates(entries, [whole], loader)
    return [dict(member.hparams) for member in cohort.members]


def test_neutral_names_are_filled_in() -> None:
    """Dies if members of a sweep's program have arguments of other names, a filled-in value
    changes something, or names depend on which other values were drawn."""
    schedules = config(plateau=Plateau(patience=3, factor=0.5), optimiser=_adam(warmup=32.0))
    smooth = config({"smoothing": 0.1})
    plain, scheduled, smoothed = _swept(config(), schedules, smooth)
    assert plain.keys() == scheduled.keys() == smoothed.keys()
    more = ["plateau_patience", "plateau_factor", "plateau_floor", "smoothing", "warmup"]
    assert [plain[name] for name in more] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert [scheduled[name] for name in more] == [3.0, 0.5, 0.0, 0.0, 32.0]
    assert [smoothed[name] for name in more] == [1.0, 1.0, 0.0, 0.1, 0.0]
    (alone,) = _swept(config())
    # decays are the host's: a plateau's values are read by no program
    assert plain.keys() - alone.keys() == {"plateau_patience", "plateau_factor", "plateau_floor"}
    assert not alone.keys() & {"noise", "l2"}


def test_repeats_are_apart() -> None:
    """Dies if repeats of a seed are neighbours, which would be no second try of the machine; or
    if they do not share what is compiled."""
    planned_cohorts = planned(prepared.seeds_by_splits(config(), [1, 2], repeats=3))
    shown = [[(m.seed, m.repeat) for m in c.members] for c in planned_cohorts]
    assert shown == [[(1, k), (2, k)] for k in range(3)]
    assert len({cohort.program for cohort in planned_cohorts}) == 1


def test_a_config_is_described_once_for_all_its_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the plan of 40,000 seeds takes minutes."""
    described = list[Any]()
    monkeypatch.setattr(fields, "traced", lambda of: described.append(of) or {})
    planned(toy_kind.trials(range(9)))
    once = len(described)
    planned(toy_kind.trials(range(90)))
    assert len(described) == 2 * once


def test_members_alike_of_two_studies_are_both_trained() -> None:
    """Dies if the scores of one are recorded as the other's, or not at all."""
    trials = [*toy_kind.trials((1,)), *prepared.seeds_by_splits(config(), [1], repeats=2)[:1]]
    planned_cohorts = planned(trials)
    assert sorted(e.record.name for c in planned_cohorts for e in c.entries) == [
        "toy",
        "toy, noise",
    ]
    assert all(len(set(c.members)) == len(c.entries) for c in planned_cohorts)


def test_what_changes_no_score_changes_no_id() -> None:
    """Dies if a name, a number of lanes or kept models make another experiment."""
    changed = config(lanes=2, save_models=True, checkpoint_every=3)
    changed = dataclasses.replace(changed, name="other", data=toy_kind.Data(path="elsewhere"))
    ids = {entry.record.id for cohort in _of(config(), changed) for entry in cohort.entries}
    assert len(ids) == 1
    assert _of(config({"rate": 0.3}))[0].name not in ids
    assert _of(dataclasses.replace(config(), data=toy_kind.Data(kept_out=1)))[0].name not in ids


def test_a_neighbour_is_recorded_by_what_it_differs_in() -> None:
    """Dies if the centre's own values make a neighbour another member, or models are saved."""
    rates = [{"rate": 0.2}, {"rate": 0.4}]
    trials = prepared.neighbourhood(config(save_models=True), rates)
    assert [trial.hparams for trial in trials] == ["{}", '{"rate":0.4}']
    (cohort,) = planned(trials)
    assert [dict(member.hparams)["rate"] for member in cohort.members] == [0.2, 0.4]
    assert not cohort.config.training.save_models
    assert len(cohort.records) == 1
