"""Verbs as they are typed: `train(["--seeds", "2"])` is `jaxeval train --seeds 2`."""

from collections.abc import Callable, Sequence

from jaxeval import __main__ as command


def _verb(name: str) -> Callable[[Sequence[str]], int]:
    return lambda words: command.main([name, *words])


train, sweep, tune, select, settle = map(_verb, ("train", "sweep", "tune", "select", "settle"))
evaluate, predict, configs = map(_verb, ("evaluate", "predict", "configs"))
report, runs = map(_verb, ("report", "runs"))
