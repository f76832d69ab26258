"""The configs of Melis et al. (2018): their rows, their budgets, whose rates they have."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.config import markers
from jaxeval.models import budget

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
    return [name for name in names if not name.endswith("_small")]


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
    shape = model.shape(VOCABULARIES[text])
    count = budget.parameter_count(shape, model.cell())
    assert model.kind == cell and 0.99 * limit < count <= limit
    if model.hidden is None:
        assert model.budget == limit
    else:
        solved = budget.solve(
            VOCABULARIES[text],
            limit,
            model.cell(),
            layers=model.layers,
            tied=model.tied,
            ratio=TUNED[name],
        )
        assert shape == solved
    depth = re.search(r"_d(\d)$", name)
    expected = int(depth[1]) if depth else {"nas": 4 if text == "enwik8" else 1}.get(cell, 1)
    assert model.layers == expected and model.depth == (5 if cell == "rhn" else 1)


@pytest.mark.parametrize("name", sorted(set(_names()) - set(TUNED)))
def test_an_untuned_config_has_the_rates_that_it_says(name: str) -> None:
    """Dies if a file names another setting than it has, or differs in more than its sizes."""
    head = (CONFIGS / f"{name}.toml").read_text().partition("\nname")[0]
    of = re.search(r"its rates are those of\n# (\S+)\.toml", head)
    assert of is not None and of[1] in TUNED
    config, tuned = _read(name), _read(of[1])
    assert (config.data, config.training) == (tuned.data, tuned.training)
    model = dataclasses.replace(config.model.dropout, inter_layer=None)
    assert model == dataclasses.replace(tuned.model.dropout, inter_layer=None)
    # the tuned ratio, which is what the solver is given
    assert config.model.ratio == TUNED[of[1]]


def test_a_tuned_setting_is_solved_for_another_depth_and_budget() -> None:
    """Dies if unset sizes are kept, or rates of sites that are gone stop it."""
    path = str(CONFIGS / "wikitext2_lstm_24m_d2.toml")
    unset = ["model.hidden=", "model.embedding=null", "model.budget=10_000_000"]
    config = studies.read(path, [*unset, "model.layers=1", "model.ratio=1.3"])
    shape = config.model.shape(33_279)
    assert shape == budget.solve(33_279, 10_000_000, config.model.cell())
    tuned = markers.active(studies.read(path).model)
    assert markers.active(config.model) == {
        name: tuned[name] for name in ("dropout_input", "dropout_state", "dropout_output")
    }
    within = studies.read(path, [*unset, "model.layers=4", "model.ratio=0.5"]).model
    assert markers.active(within) == tuned and within.shape(33_279).layers == 4
