"""What a population tells of an epoch, against what was put into its lanes."""

import numpy as np

from jaxeval.contracts import Member, Metric
from jaxeval.population import reports, slots

METRIC = Metric("f1")
# of four lanes: trains on, ends with a best epoch, idle, diverged
LANES = [
    slots.Slot(Member(1), epoch=3, reported=0.5, reported_epoch=2),
    slots.Slot(Member(2), epoch=5, reported=0.7, reported_epoch=4),
    slots.Slot(),
    slots.Slot(Member(3), epoch=1),
]
EVENTS = [
    slots.Event(),
    slots.Event("early_stopped", test=True),
    slots.Event(),
    slots.Event("diverged"),
]
TEST = [{}, {"f1": 0.6, "accuracy": 0.9}, {}, {}]


def test_scores_belong_to_their_epochs() -> None:
    """Dies if test has the last epoch's number, an idle lane a score, or a loss is lost."""
    dev = [{"f1": 0.4}, {"f1": 0.65}, {}, {}]
    scores = reports.epoch_scores(LANES, METRIC, [1.0, 2.0, 0.0, np.nan], dev, TEST)
    described = [(score.member.seed, score.epoch, score.part) for score in scores]
    assert described == [
        *[(1, 3, "train"), (1, 3, "dev"), (2, 5, "train"), (2, 5, "dev"), (3, 1, "train")],
        (2, 4, "test"),
    ]
    assert [score.scores for score in scores[:2]] == [{"loss": 1.0}, {"f1": 0.4}]
    assert scores[-1].scores == TEST[1]


def test_who_ended() -> None:
    """Dies if a member that trains on ends, or an end has another lane's score."""
    ended = {end.member.seed: end for end in reports.ended(LANES, EVENTS, METRIC, TEST)}
    assert {seed: end.status for seed, end in ended.items()} == {2: "early_stopped", 3: "diverged"}
    assert (ended[2].best_epoch, ended[2].dev, ended[2].test) == (4, 0.7, 0.6)
    assert ended[3].test is None


def test_best_params_are_the_lane_s_own() -> None:
    """Dies if the params of another lane are saved, or those of members that train on."""
    best = {"w": np.arange(8.0).reshape(4, 2)}
    params = reports.best_params(LANES, EVENTS, best)
    assert [member.seed for member in params] == [2]
    np.testing.assert_array_equal(params[Member(2)]["w"], [2.0, 3.0])
