"""Values that are impossible are refused with key, value and range, before anything is done;
numbers of numpy are numbers, texts and fractions are none."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest

from jaxeval import studies, tasks
from jaxeval.config import reading
from jaxeval.errors import ConfigError, called_from, parameter
from jaxeval.studies import cohorts, prepared, running

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
    count = cohorts.parameters(cohort.problem, cohort.members[0])
    monkeypatch.setattr(cohorts, "_bytes", lambda: 12.0 * count)
    running.refuse_impossible([cohort])
    monkeypatch.setattr(cohorts, "_bytes", lambda: 12.0 * count - 1)
    with pytest.raises(ConfigError, match=f"model: {count:,} parameters need at least"):
        running.refuse_impossible([cohort])


ablation = importlib.import_module("jaxeval.ablation")  # of the package, it is the function


@reading.settings
class _Sizes:
    """A number of each kind."""

    units: int = 1
    rate: float = 0.0
    layers: tuple[int, ...] = ()


def test_settings_of_numpy_numbers() -> None:
    """Dies if a number of numpy in a dict is refused as a text."""
    tree = {"units": np.int64(5), "rate": np.float32(0.5), "layers": np.array([2, 3])}
    assert reading.read(_Sizes, tree) == _Sizes(units=5, rate=0.5, layers=(2, 3))
    with pytest.raises(ConfigError, match="units"):
        reading.read(_Sizes, {"units": np.float64(5.5)})


def test_a_wrong_change_names_where_it_was_made(tmp_path: Path) -> None:
    """Dies if the config's file is blamed for a change, or a change for the file."""

    origin = "v.toml: variant 'x'"
    file = tmp_path / "c.toml"

    def said(text: str, *changes: str, origin: str = origin) -> str:
        file.write_text(text)
        with pytest.raises(ConfigError) as caught:
            reading.read(_Sizes, file, changes, origin)
        return str(caught.value)

    assert said("", "units=a").startswith("v.toml: variant 'x': units: ")
    assert said("units = 'a'", "rate=0.5").startswith(f"{file}: units: ")
    assert said("units = 'a'", "rate=b").startswith(f"{file}: 2 errors")
    assert said("", "rate=b", "units=a").startswith(f"{origin}: 2 errors")
    assert said("", "units=a", origin="").startswith("units: ")
    # the wrong key is above the one that was changed
    assert said("", "nosuch.a=1").startswith(f"{origin}: nosuch: unknown key")
    with pytest.raises(ConfigError, match=r"^command line: training\.epochs: input"):
        studies.read({"name": "a"}, ["training.epochs=0"])
    meant = r"mean training\.optimiser\.hyperparameters\.learning_rate\?"
    with pytest.raises(ConfigError, match=meant):
        studies.read({"name": "a"}, ["learning_rate=0.1"])
    with pytest.raises(ConfigError, match=r"model\.name: unknown key; model has casing, "):
        studies.read({"name": "a"}, ["model.name=b"])
    with (
        pytest.raises(ConfigError, match=r"^changes: training\.epochs: input"),
        called_from(parameter),
    ):
        studies.read({}, ["training.epochs=0"])


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\u2028"])
def test_a_name_is_a_line(name: str) -> None:
    """Dies if an experiment is recorded that no table and no argument can name."""
    with pytest.raises(ConfigError, match="name: expected a name of one line"):
        studies.read({"name": name})
