"""The texts of items in logs: what was asked, what was expected, what the model said.

Readers of scores keep none of it. A file is read again for the items of one page; of an archive
of Inspect only their members.
"""

import json
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import JaxevalError, parsing
from jaxeval.files import Json
from jaxeval.runs import columns, items, layout
from jaxeval.runs.logs import inspect_logs, records
from jaxeval.runs.logs.records import members

_SAMPLE = re.compile(r"samples/(.+)_epoch_\d+(?:/sample)?\.json")
_MOST = 4000  # characters of a text
_ANSWERS = ("score", "correct", "gold", "predicted")


class Text(NamedTuple):
    """The texts of an item in one log; "" is unknown."""

    question: str = ""
    expected: str = ""
    answer: str = ""


def read(path: Path, wanted: Collection[str]) -> dict[str, Text]:
    """Returns the texts of items of a log, by id; of several answers the first.

    Raises:
      DataError: the log cannot be read.
    """
    found = dict[str, Text]()
    with parsing("cannot be read", path, passing=(JaxevalError, MemoryError)):
        for item, text in _texts(path, wanted):
            if item in wanted:
                known = found.get(item, Text())
                both = zip(known, map(_short, text), strict=True)
                found[item] = Text(*(old or new for old, new in both))
    return found


def _texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    if path.name == "per_instance_stats.json":
        yield from _read_helm(path.with_name("scenario_state.json"))
    elif path.suffix in (".eval", ".json"):
        yield from map(_of_sample, _read_samples(path, wanted))
    elif path.suffix in items.TABLES:
        table = columns.read(path)
        for k, row in enumerate(zip(*table.values.values(), strict=True)):
            yield _of_row(dict(zip(table.values, row, strict=True)), table.rows[k])
    else:
        for number, line in columns.json_lines(path):
            yield _of_line(line, number)


def _read_samples(path: Path, wanted: Collection[str]) -> Iterator[Mapping[str, Json]]:
    """Yields the samples of Inspect; their summaries, if these are all that an archive has."""
    matches = []
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            matches = [*filter(None, map(_SAMPLE.fullmatch, archive.namelist()))]
            for match in matches:
                if match[1] in wanted:
                    yield members(inspect_logs.read_member(archive, match[0], path))
    if not matches:
        yield from map(members, inspect_logs.read_samples(path))


def _of_sample(sample: Mapping[str, Json]) -> tuple[str, Text]:
    """Returns the texts of a sample of Inspect, with what each scorer took for the answer."""
    output = members(sample.get("output"))
    message = members(members(_first(output.get("choices"))).get("message"))
    said = _plain(message.get("content")) or _plain(output.get("completion"))
    notes = [
        f"{scorer}: {_plain(part)}"
        for scorer, score in members(sample.get("scores")).items()
        for part in (members(score).get("answer"), members(score).get("explanation"))
        if part and _plain(part) != said
    ]
    asked, right = _plain(sample.get("input")), _plain(sample.get("target"))
    return str(sample.get("id")), Text(asked, right, "\n\n".join(filter(None, [said, *notes])))


def _read_helm(path: Path) -> Iterator[tuple[str, Text]]:
    """Yields the requests of HELM that are not perturbed."""
    tree = members(records.read_json(path)) if path.is_file() else {}
    for state in records.objects(tree.get("request_states")):
        instance, request = members(state.get("instance")), members(state.get("request"))
        if instance.get("perturbation"):
            continue
        right = [
            _plain(members(reference.get("output")).get("text"))
            for reference in records.objects(instance.get("references"))
            if "correct" in str(reference.get("tags"))
        ]
        said = _first(members(state.get("result")).get("completions"))
        asked = _plain(request.get("prompt")) or _plain(members(instance.get("input")).get("text"))
        text = Text(asked, "\n".join(right), _plain(members(said).get("text")))
        yield str(instance.get("id")), text


def _of_line(line: Mapping[str, Json], number: int) -> tuple[str, Text]:
    """Returns the texts of a line of lm-evaluation-harness, of openai/evals, or of predictions."""
    if "doc_id" in line:
        asked = line.get("arguments")
        for _ in range(2):  # a request's first argument, under names or in lists
            asked = _first([*asked.values()] if isinstance(asked, Mapping) else asked)
        question = _plain(asked) or _plain(line.get("doc"))
        answer = _first(line.get("filtered_resps")) or _first(line.get("resps"))
        return str(line["doc_id"]), Text(question, _plain(line.get("target")), _plain(answer))
    if "sample_id" in line:
        data = members(line.get("data"))
        answer = data.get("sampled", data.get("picked"))
        texts = map(_plain, (data.get("prompt"), data.get("expected"), _first(answer) or answer))
        return str(line["sample_id"]), Text(*texts)
    return _of_row(line, number)


def _of_row(row: Mapping[str, object], number: int) -> tuple[str, Text]:
    """Returns the texts of a row of predictions: all columns without a role are the question."""
    roles = layout.item_roles(row)
    left = {*(roles.get(role) for role in ("item", "model", "seed", *_ANSWERS)), "run", "prompt"}
    rest = [f"{key}: {_plain(value)}" for key, value in row.items() if key not in left]
    gold, predicted = (_plain(row.get(roles.get(role, role))) for role in ("gold", "predicted"))
    question = "\n".join(filter(None, [_plain(row.get("prompt")), *rest]))
    item = row.get(roles.get("item", "item"))
    return str(number if item in (None, "") else item), Text(question, gold, predicted)


def _first(values: Json) -> Json:
    """Returns the first of a list; a value that is no list, itself."""
    return (values[0] if values else None) if isinstance(values, list) else values


def _plain(value: object) -> str:
    """Returns words as they are, messages as "role: words", and other data as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    parts = value if isinstance(value, list) else []
    if parts and all(isinstance(part, Mapping) for part in parts):
        said = ((p.get("role"), p.get("content", p.get("text"))) for p in parts)
        return "\n\n".join(f"{role}: {_plain(of)}" if role else _plain(of) for role, of in said)
    if parts and all(isinstance(part, str) for part in parts):
        return "\n".join(parts)
    return json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]} \u2026 ({len(text)} characters)"
