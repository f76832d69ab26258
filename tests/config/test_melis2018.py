"""The configs of Melis et al. (2018): their rows, their budgets, whose rates they have."""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.config import markers
from jaxeval.errors import ConfigError
from jaxeval.models import language
from jaxeval.models.language import LanguageShape
from jaxeval.space import distributions, space
from jaxeval.studies import prepared, proposers

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
    shape = model.shape(VOCABULARIES[text])
    count = shape.parameters(model.cell())
    assert model.kind == cell and 0.99 * limit < count <= limit
    if model.hidden is None:
        assert model.budget == limit
    else:
        like = LanguageShape(VOCABULARIES[text], 1, 1, model.layers, model.tied)
        assert shape == language.solve(like, limit, model.cell(), TUNED[name])
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
    model = dataclasses.replace(config.model.dropout, inter_layer=0.0)
    assert model == dataclasses.replace(tuned.model.dropout, inter_layer=0.0)
    # the tuned ratio, which is what the solver is given
    assert config.model.ratio == TUNED[of[1]]


def test_a_tuned_setting_is_solved_for_another_depth_and_budget() -> None:
    """Dies if unset sizes are kept, or rates of sites that are gone stop it."""
    path = str(CONFIGS / "wikitext2_lstm_24m_d2.toml")
    unset = ["model.hidden=", "model.embedding=null", "model.budget=10_000_000"]
    config = studies.read(path, [*unset, "model.layers=1", "model.ratio=1.3"])
    shape = config.model.shape(33_279)
    assert shape == language.solve(LanguageShape(33_279, 1, 1), 10_000_000, config.model.cell())
    tuned = markers.active(studies.read(path).model)
    assert markers.active(config.model) == {
        name: tuned[name] for name in ("dropout_input", "dropout_state", "dropout_output")
    }
    within = studies.read(path, [*unset, "model.layers=4", "model.ratio=0.5"]).model
    assert markers.active(within) == tuned and within.shape(33_279).layers == 4


SPACES = sorted(path.stem for path in CONFIGS.glob("space_*.toml"))


def _for(name: str) -> tuple[str, list[str]]:
    """The config that a space is for and its changes, as the command in its file has them."""
    text = (CONFIGS / f"{name}.toml").read_text()
    command = re.search(r"jaxeval tune (\S+) .*\n.*--parallel 60 ?(.*)\n", text)
    assert command is not None
    return command[1], command[2].split()


def test_every_cell_and_unit_has_a_space() -> None:
    """Dies if a model of the paper cannot be tuned as it was there."""
    cells = {
        f"space_{unit}_{cell}" for unit in ("word", "byte") for cell in ("lstm", "rhn", "nas")
    }
    assert {*SPACES} == {*cells, "space_word_lstm_deep"}


@pytest.mark.parametrize("name", SPACES)
def test_every_setting_of_a_space_is_a_config_within_its_budget(name: str) -> None:
    """Dies if a corner of a space is refused, or a hyperparameter changes nothing."""
    source, changes = _for(name)
    of, base = space.read(CONFIGS / f"{name}.toml"), studies.read(source, changes)
    proposers.refuse_leaks(base, of, name)
    deep = base.model.layers > 1
    assert len(of.parameters) == 6 + deep  # as in the paper
    assert base.data.unit == name.split("_")[1] and base.model.kind == name.split("_")[2]
    vocabulary, cell = VOCABULARIES[source.split("/")[1].split("_")[0]], base.model.cell()
    for quantile in (0.0, 0.4, 1.0):
        values = space.at(of, dict.fromkeys((p.name for p in of.parameters), quantile))
        config = proposers.configured(source, changes, of, values)
        shape = config.model.shape(vocabulary)
        count = shape.parameters(cell)
        assert 0.95 * config.model.budget < count <= config.model.budget
        rates, before = markers.active(config), markers.active(base)
        changed = {key for key, value in rates.items() if before.get(key) != value}
        sites = {"input", "state", "output"} | ({"inter_layer"} if deep else set())
        dropouts = {f"dropout_{site}" for site in sites}
        assert changed - {"dropout_projected"} == {"learning_rate", "l2"} | (
            dropouts if quantile else set()
        )


@pytest.mark.parametrize("name", SPACES)
def test_a_space_holds_what_won_in_the_paper(name: str) -> None:
    """Dies if a range leaves out a released setting; a decay of 0 lies on no log scale."""
    unit, cell = name.split("_")[1:3]
    texts = ("ptb", "wikitext2") if unit == "word" else ("enwik8",)
    for text in texts:
        for path in CONFIGS.glob(f"{text}_{cell}_*m*.toml"):
            tree = tomllib.loads(path.read_text())
            for parameter in space.read(CONFIGS / f"{name}.toml").parameters:
                value, of = prepared.at(tree, str(parameter.key)), parameter.distribution
                assert isinstance(of, distributions.Uniform | distributions.LogUniform)
                assert not value or of.low < value < of.high


def test_a_space_needs_its_changes() -> None:
    """Dies if sizes that are given once and for all take the place of the ratio in silence."""
    of = space.read(CONFIGS / "space_word_lstm.toml")
    values = space.draw(of, 1, 0)
    with pytest.raises(ConfigError, match="hidden: cannot be set with budget or ratio"):
        proposers.configured("melis2018/ptb_lstm_10m_d1", [], of, values)
