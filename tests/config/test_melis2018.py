"""The configs of Melis et al. (2018): their rows, their budgets, whose rates they have."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from jaxeval import space, studies
from jaxeval.config import fields
from jaxeval.studies import sweeps

CONFIGS = Path(__file__).parents[2] / "configs" / "melis2018"
VOCABULARIES = {"ptb": 10_001, "wikitext2": 33_279, "enwik8": 206}  # the public code's
TUNED = {  # released: their sizes follow from budget and ratio
    "ptb_lstm_10m_d1": 0.224374398589,
    "ptb_lstm_24m_d4": 1.0,
    "wikitext2_lstm_24m_d2": 0.121502,
    "enwik8_lstm_27m_d4": 1.0,
    "enwik8_lstm_46m_d4": 1.0,
}
ROWS = {
    *(f"{text}_lstm_{size}_d{depth}" for text in ("ptb", "wikitext2") for size in ("10m", "24m")
      for depth in (1, 2, 4)),
    *(f"{text}_{cell}_{size}" for text in ("ptb", "wikitext2") for size in ("10m", "24m")
      for cell in ("rhn", "nas")),
    *(f"enwik8_{cell}_{size}" for cell in ("lstm", "rhn", "nas") for size in ("27m", "46m")),
}  # fmt: skip


def _read(name: str) -> Any:
    return studies.read(str(CONFIGS / f"{name}.toml"))


def _names() -> list[str]:
    names = sorted(path.stem for path in CONFIGS.glob("*.toml"))
    return [name for name in names if not name.endswith("_small") and not name.startswith("space")]


def test_every_row_has_a_config() -> None:
    """Dies if a cell, a depth or a budget of the tables is missing."""
    rows = {name.removesuffix("_d4") if "enwik8" in name else name for name in _names()}
    assert rows == ROWS


@pytest.mark.parametrize("name", _names())
def test_a_config_spends_its_budget(name: str) -> None:
    """Dies if a model is larger than its budget, or clearly smaller than it could be."""
    text, cell, size = name.split("_")[:3]
    limit = int(size.removesuffix("m")) * 1_000_000
    model = _read(name).model
    sized = model.sized(VOCABULARIES[text])
    count = sized.parameters(VOCABULARIES[text])
    assert model.kind == cell and 0.99 * limit < count <= limit
    if model.hidden is None:
        assert model.budget == limit
    else:
        free = {"hidden": None, "embedding": None, "budget": limit, "ratio": TUNED[name]}
        assert sized == dataclasses.replace(model, **free).sized(VOCABULARIES[text])
    depth = re.search(r"_d(\d)$", name)
    expected = int(depth[1]) if depth else {"nas": 4 if text == "enwik8" else 1}.get(cell, 1)
    assert model.layers == expected and model.depth == (5 if cell == "rhn" else 1)


SPACES = sorted(path.stem for path in CONFIGS.glob("space_*.toml"))


def _for(name: str) -> tuple[str, list[str]]:
    """The config that a space is for and its changes, as the command in its file has them."""
    text = (CONFIGS / f"{name}.toml").read_text()
    command = re.search(r"jaxeval tune (\S+) .*\n.*--parallel 60 ?(.*)\n", text)
    assert command is not None
    return command[1], command[2].split()


@pytest.mark.parametrize("name", SPACES)
def test_every_setting_of_a_space_is_a_config_within_its_budget(name: str) -> None:
    """Dies if a corner of a space is refused, or a hyperparameter changes nothing."""
    source, changes = _for(name)
    of, base = space.load(CONFIGS / f"{name}.toml")[0], studies.read(source, changes)
    sweeps.refuse_leaks(base, of, name)
    deep = base.model.layers > 1
    assert len(of.parameters) == 6 + deep  # as in the paper
    assert base.data.unit == name.split("_")[1] and base.model.kind == name.split("_")[2]
    vocabulary = VOCABULARIES[source.split("/")[1].split("_")[0]]
    for quantile in (0.0, 0.4, 1.0):
        values = space.at(of, dict.fromkeys((p.name for p in of.parameters), quantile))
        config = sweeps.configured(source, changes, of, values)
        count = config.model.sized(vocabulary).parameters(vocabulary)
        assert 0.95 * config.model.budget < count <= config.model.budget
        rates, before = fields.active(config), fields.active(base)
        changed = {key for key, value in rates.items() if before.get(key) != value}
        sites = {"input", "state", "output"} | ({"inter_layer"} if deep else set())
        dropouts = {f"dropout_{site}" for site in sites}
        assert changed - {"dropout_projected"} == {"learning_rate", "l2"} | (
            dropouts if quantile else set()
        )
