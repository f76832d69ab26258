"""Configs: every mistake is told, with the key, the value and the nearest valid one."""

from pathlib import Path
from typing import Annotated, Literal

import pydantic
import pytest

from jaxeval import studies
from jaxeval.config import fields, reading
from jaxeval.errors import ConfigError


@reading.settings
class Inner:
    """A nested table."""

    units: Annotated[tuple[int, ...], pydantic.Field(description="widths", min_length=1)] = (100,)
    kind: Literal["none", "cnn", "lstm"] = "cnn"
    rate: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.25
    limit: int | None = None

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> "Inner":
        if self.kind == "none" and self.limit:
            raise ValueError("limit needs a kind")
        return self


@reading.settings
class Named:
    """A thing with a kind of its own values."""

    name: str = "a"
    rate: float = 0.1
    values: dict[str, float] = pydantic.Field(default_factory=dict)


@reading.settings
class Parent:
    """Its default differs from the class's."""

    named: Named = Named(name="b", values={"x": 1.0})
    made: Named = pydantic.Field(default_factory=lambda: Named(rate=0.3))


@reading.settings
class Outer:
    """The whole."""

    name: str = "x"
    flag: bool = False
    inner: Inner = Inner()


def test_file_and_overrides(tmp_path: Path) -> None:
    """Dies if the file wins over the command line, or a neighbour of a changed key is lost."""
    file = tmp_path / "c.toml"
    file.write_text('name = "file"\n[inner]\nrate = 0.5\nunits = [10]\nlimit = 7\n')
    read = reading.read(Outer, file, ["inner.units=[50,75]", "inner.rate=.1", "inner.limit="])
    assert read == Outer(name="file", inner=Inner(units=(50, 75), rate=0.1))
    assert reading.read(Outer, None, ["inner.kind=none"]).inner.kind == "none"
    assert reading.read(Outer, None, ["inner.rate=0", "name=1e5x"]).name == "1e5x"


BAD = {
    "unknown key, the nearest under the same parent": ("inner.rat=1", "did you mean inner.rate?"),
    "the last part of a key": ("rate=1", "did you mean inner.rate?"),
    "true for a number": ("inner.rate=true", "inner.rate: expected a number (got True)"),
    "a value for a table": ("inner=3", "inner: expected a table (got 3)"),
    "out of range": ("inner.rate=1.0", "less than 1 (got 1.0)"),
    "no equals sign": ("flag", "expected key=value"),
    "two keys": ("inner.rate=0.1\nname = 1", "expected one value, found further lines"),
    "keys that exclude one another": ('inner={kind="none",limit=3}', "inner: limit needs a kind"),
    "an empty list": ("inner.units=[]", "inner.units: expected a list of at least 1 (got [])"),
    "a number that is absent": ("inner.rate=", "inner.rate: cannot be absent; expected a number"),
    "a table that is absent": ("inner=null", "inner: cannot be absent; expected a table"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told(case: str) -> None:
    """Dies if a mistake passes, or the message does not help."""
    override, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        reading.read(Outer, None, [override])
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_a_table_in_part_keeps_its_parents_defaults() -> None:
    """Dies if one key of a table brings the class's defaults for the others."""
    plain = Parent()
    assert reading.read(Parent, None, ["named.rate=0.5"]) == Parent(
        named=Named(name="b", rate=0.5, values={"x": 1.0})
    )
    assert reading.read(Parent, None, ["named.values.y=2"]).named.values == {"x": 1.0, "y": 2.0}
    assert reading.read(Parent, None, ["named.name=c"]).named == Named(name="c")
    assert reading.read(Parent, None, ["named.name=b"]) == plain
    assert reading.read(Parent, None, ["made.name=a"]) == plain


def test_null_unsets_a_key(tmp_path: Path) -> None:
    """Dies if a key whose default is not absent cannot be made so, or a text "null" is lost."""
    file = tmp_path / "c.toml"
    file.write_text('[inner]\nlimit = "null"\n')
    settings = Outer(inner=Inner(limit=3))
    for changes in (["inner.limit=3", "inner.limit="], ["inner.limit=3", "inner.limit=null"]):
        assert (
            reading.read(Outer, file, changes) == reading.read(Outer, file) == Outer() != settings
        )
    assert reading.read(Outer, None, ['name="null"']).name == "null"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Dies if the file or the line is not named."""
    broken = tmp_path / "broken.toml"
    broken.write_text("flag = true\nname = \n")
    with pytest.raises(ConfigError, match=r"broken\.toml: not valid TOML.*line 2"):
        reading.read(Outer, broken)
    with pytest.raises(ConfigError, match=r"brokn\.toml: no such config file"):
        reading.read(Outer, tmp_path / "brokn.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ConfigError, match="text file"):
        reading.read(Outer, tmp_path / "latin.toml")
    broken.write_text('task = "taging"\n')
    with pytest.raises(ConfigError, match=r"broken\.toml: task: expected one of tagging"):
        studies.read(broken)


def test_canonical_json_and_digest() -> None:
    """Dies if the hash of a config depends on anything but its contents."""
    read = reading.read(Outer, None, ["inner.units=[1,2]"])
    text = reading.canonical(reading.to_dict(read))
    inner = '{"kind":"cnn","limit":null,"rate":0.25,"units":[1,2]}'
    assert text == '{"flag":false,"inner":' + inner + ',"name":"x"}'
    assert reading.digest('{"a":1}') == "015abd7f5cc57a2d"


def test_keys_for_help() -> None:
    """Dies if a nested key, its default or its meaning is missing; or a parent's default."""
    by_name = {key.name: key for key in fields.describe(Outer)}
    assert [*by_name] == [
        "name",
        "flag",
        *(f"inner.{k}" for k in ("units", "kind", "rate", "limit")),
    ]
    assert by_name["inner.units"][2:] == ("[100]", "widths")
    assert by_name["inner.kind"].kind == "none|cnn|lstm"
    assert by_name["inner.limit"].default == "absent"
    keys = fields.describe(Outer, instance=Outer(inner=Inner(units=(7,))))
    assert {key.name: key for key in keys}["inner.units"].default == "[7]"


CHANGED = [
    ["task=language", "training.plateau=", "model.hidden=null", "training.stopping.targets=[1.5]"],
    ['name="a \\"b\\" = \\\\ # ü \\u007f"', "model.layers=[3,4]", "model.projection=5"],
    ["training.optimiser.name=sgd", "training.optimiser.steps=[[2,1e-8]]"],
]


@pytest.mark.parametrize("changes", CHANGED)
def test_a_config_written_as_toml_comes_back(changes: list[str], tmp_path: Path) -> None:
    """Dies if an absent key gets its default back, or a text or a number another value."""
    config, file = studies.read(None, changes), tmp_path / "again.toml"
    file.write_text(fields.to_toml(config), encoding="utf-8")
    assert studies.read(str(file)) == config
