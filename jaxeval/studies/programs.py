"""What is compiled in of a config, and which configs have one program though vectors differ.

Members that differ in their word vectors have tables as an input. The tables of all files lie on
the devices once, J of them with as many rows as the largest has: 4 J V D bytes. Where they would
take more than a quarter of the memory, there are several programs.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxeval.config import markers, reading
from jaxeval.population.engine import Problem
from jaxeval.studies import memory
from jaxeval.studies.prepared import Prepared


def text(of: Prepared, ragged: bool = False, filled: bool = False) -> str:
    """All that members of a program have in common, as canonical JSON.

    The names of traced values are among it: one name more, though its value is neutral, can change
    the last bits of a score, which must not depend on who else is trained.

    Args:
      ragged: whether they may differ in ragged keys.
      filled: whether all members are given the names that may be shared with neutral values.
    """
    hyperparameters = markers.traced(of.config).values()
    names = sorted(h.name for h in hyperparameters if h.active and not (filled and fills(h)))
    tree = {key: v for key, v in markers.static(of.config, ragged).items() if key != "name"}
    return reading.canonical([tree, names, of.source.fingerprint, of.source.pretrained])


def fills(hyperparameter: markers.Hyperparameter) -> bool:
    """Whether a sweep gives it to members for which it is neutral."""
    marker = hyperparameter.marker
    return marker.neutral is not None and not marker.alone


class Joint(NamedTuple):
    """What a config's members are trained as.

    Attributes:
      program: canonical JSON of all that is compiled in.
      vectors: by which a member's own table is known; "" where a program has one.
    """

    program: str
    problem: Problem
    vectors: str = ""


def of(each: Sequence[Prepared]) -> list[Joint]:
    """What the members of each config are trained as.

    A config whose models are saved has a program of its own: its parameters are no larger than
    its vocabulary.
    """
    families: dict[str, dict[str, Prepared]] = {}
    names = [_family(prepared) for prepared in each]
    for prepared, family in zip(each, names, strict=True):
        if family:
            families.setdefault(family, {}).setdefault(prepared.source.pretrained, prepared)
    joint = {
        (family, fingerprint): program
        for family, files in families.items()
        for part in _parts(files)
        if len(part) > 1
        for fingerprint, program in _joined(family, part).items()
    }
    return [
        joint.get((family, prepared.source.pretrained)) or Joint(text(prepared), prepared.problem)
        for prepared, family in zip(each, names, strict=True)
    ]


def _family(of: Prepared) -> str:
    """Equal for configs whose members can share a program; "" where there is nothing to share."""
    if not of.source.pretrained or of.kind.joining is None or of.config.training.save_models:
        return ""
    data = dataclasses.replace(of.config.data, vectors=None)
    config = dataclasses.replace(of.config, data=data)
    source = of.source._replace(pretrained="")
    common = of.kind.joining.key(of.config, of.data)
    return reading.canonical([text(of._replace(config=config, source=source)), common])


def _parts(files: dict[str, Prepared]) -> Iterator[dict[str, Prepared]]:
    """Files that one program holds, by fingerprint; in its order, whatever that of the trials."""
    names = sorted(files)
    most = memory.tables_at_once(max(_bytes(each) for each in files.values()))
    for begin in range(0, len(names), most):
        yield {name: files[name] for name in names[begin : begin + most]}


def _bytes(of: Prepared) -> int:
    return int(of.data.table.vectors.nbytes)


def _joined(family: str, files: dict[str, Prepared]) -> dict[str, Joint]:
    first = next(iter(files.values()))
    assert first.kind.joining is not None
    data = first.kind.joining.join([each.data for each in files.values()])
    source, task = first.kind.build(first.config, data[0])
    splits = {name: each.split for name, each in zip(files, data, strict=True)}
    problem = Problem(task, source.corpus, source.split, first.config.training, splits)
    program = reading.canonical([family, [*files]])
    return {name: Joint(program, problem, name) for name in files}
