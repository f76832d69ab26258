"""Values that are impossible are refused with key, value and range, before anything is done."""

from collections.abc import Iterator, Mapping
from typing import Any

import pydantic
import pytest

from jaxeval import studies, tasks
from jaxeval.errors import ConfigError
from jaxeval.studies import cohorts, memory, prepared, running

_RATE = "training.optimiser.hyperparameters"
REFUSED = {
    "a rate below 0": (f"{_RATE}.learning_rate=-1", "from 0 to 1000, got -1"),
    "nothing to divide by": (f"{_RATE}.epsilon=0", "epsilon: expected a number above 0 to 1"),
    "a rate of a step": ("training.optimiser.steps=[[2,-0.1]]", "steps.0.1: .*equal to 0"),
    "a batch beyond memory": (
        "training.batch_size=99999999999999999999",
        "training.batch_size: .*less than or equal to 1048576 .got 99999999999999999999",
    ),
    "a layer beyond memory": (
        "model.layers=[100000000]",
        "model.layers.0: .*less than or equal to 16384 .got 100000000",
    ),
    "an integer that is absent": (
        "training.patience=null",
        "training.patience: cannot be absent; expected a whole number",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_values_are_refused(case: str) -> None:
    """Dies if a value that can only end in NaN, or in no memory, is trained with."""
    change, message = REFUSED[case]
    with pytest.raises(ConfigError, match=message) as caught:
        studies.read(None, [change])
    assert "\n" not in str(caught.value)


def _integers(schema: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every whole number in a JSON schema, with its place."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "integer":
            yield place, schema
        for name, inner in schema.items():
            yield from _integers(inner, f"{place}.{name}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from _integers(inner, place)


@pytest.mark.parametrize("task", tasks.KINDS)
def test_every_whole_number_has_a_limit(task: str) -> None:
    """Dies if a size of any task can be so large that only memory, or 32 bits, refuse it."""
    schema = pydantic.TypeAdapter(tasks.kind_of(task).Config).json_schema()
    limits = dict(_integers(schema))
    assert len(limits) > 10
    assert [path for path, own in limits.items() if own.get("maximum", 2**31) >= 2**31] == []
    assert [path for path, own in limits.items() if "minimum" not in own] == []


def test_a_model_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if sizes that are possible one by one, but not together, are allocated."""
    config = studies.read(None, ["data.train_sentences=20", "model.layers=[50]"])
    trials = prepared.seeds_by_splits(config, [1])
    (cohort,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    count = memory.parameters(cohort.problem, cohort.members[0])
    monkeypatch.setattr(memory, "_bytes", lambda: 12.0 * count)
    running.refuse_impossible([cohort])
    monkeypatch.setattr(memory, "_bytes", lambda: 12.0 * count - 1)
    with pytest.raises(ConfigError, match=f"model: {count:,} parameters take at least"):
        running.refuse_impossible([cohort])
