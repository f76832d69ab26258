"""Arguments of functions of Python: numbers of numpy are numbers, texts and fractions are none."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from jaxeval import studies
from jaxeval.config import reading
from jaxeval.errors import ConfigError, called_from, parameter

ablation = importlib.import_module("jaxeval.train")  # of the package, it is the function


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
