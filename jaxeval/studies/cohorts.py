"""Which trials share a compiled program, and with which arguments each of them calls it."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxeval import runs
from jaxeval.config import fields, reading
from jaxeval.contracts import Member
from jaxeval.population.member import Problem
from jaxeval.studies import costs, memory, prepared
from jaxeval.studies.prepared import Prepared, Study, Trial
from jaxeval.tasks import registry

Key = tuple[str, int, int, int, str]  # experiment, seed, split, repeat, hparams


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A trial with what it is trained on."""

    trial: Trial
    prepared: Prepared  # of its own config
    record: runs.Experiment  # under which it is recorded: its config's, or its study's

    @property
    def key(self) -> Key:
        """Under what it is found in the runs database."""
        trial = self.trial
        return self.record.id, trial.seed, trial.split, trial.repeat, trial.hparams


class Cohort(NamedTuple):
    """Trials that are members of one population."""

    entries: tuple[Entry, ...]
    members: tuple[Member, ...]  # of each entry
    config: Any  # of the program; sizes are those that it is padded to
    problem: Problem
    program: str  # canonical JSON of all that is compiled in: cohorts with the same share programs
    name: str  # of its checkpoints and its lock
    estimate: costs.Estimate | None = None  # what it should cost
    steps: int = 0  # of an epoch that the program has room for, however few its members take

    @property
    def records(self) -> tuple[runs.Experiment, ...]:
        """Of all its entries, each once."""
        return tuple({entry.record.id: entry.record for entry in self.entries}.values())


def entries(trials: Iterable[Trial], loader: prepared.Loader) -> list[Entry]:
    """Trials with configs checked and data read, each config once; raises as `Loader.prepare`."""
    known: dict[tuple[str, bool], Prepared] = {}
    records: dict[Study, runs.Experiment] = {}

    def load(config: Mapping[str, Any], random_splits: bool) -> Prepared:
        key = reading.canonical(config), random_splits
        if key not in known:
            kind = registry.kind(config.get("task", "tagging"))
            known[key] = loader.prepare(reading.from_dict(kind.Config, config), random_splits)
        return known[key]

    loaded = [(trial, load(trial.config, bool(trial.split))) for trial in trials]
    for study in dict.fromkeys(trial.study for trial, _ in loaded):
        if study is not None:
            records[study] = prepared.record_of(load(study.config, False).record, study)
    return [
        Entry(trial, own, records[trial.study] if trial.study else own.record)
        for trial, own in loaded
    ]


def by_program(trained: Iterable[Entry]) -> list[Cohort]:
    """One cohort a program, of different trials; those that differ in word vectors share one.

    Those that would be the same member are trained apart: repeats of a seed, and configs that
    differ in what neither of them uses.
    """
    groups: dict[tuple[str, int], list[tuple[Entry, Member]]] = {}
    problems: dict[str, Problem] = {}
    alike: collections.Counter[tuple[str, Member]] = collections.Counter()
    each = [*{entry.key: entry for entry in trained}.values()]
    for entry, joint in zip(each, _joined([entry.prepared for entry in each]), strict=True):
        program = joint.program
        who = dataclasses.replace(member(entry), vectors=joint.vectors)
        again = program, dataclasses.replace(who, repeat=0)
        problems.setdefault(program, joint.problem)
        groups.setdefault((program, alike[again]), []).append((entry, who))
        alike[again] += 1
    cohorts = []
    for (program, _), group in groups.items():
        chosen, members = zip(*group, strict=True)
        ids = sorted({entry.record.id for entry in chosen})
        name = ids[0] if len(ids) == 1 else reading.digest(" ".join(ids))
        config = chosen[0].prepared.config
        cohorts.append(Cohort(chosen, members, config, problems[program], program, name))
    return cohorts


def member(entry: Entry, more: Mapping[str, float] | None = None) -> Member:
    """What is trained for an entry: its config's traced values that change anything, and more."""
    values = {**(more or {}), **fields.active(entry.prepared.config)}
    trial = entry.trial
    return Member(trial.seed, trial.split, tuple(sorted(values.items())), trial.repeat)


def program(own: Prepared, ragged: bool = False, filled: bool = False) -> str:
    """All that members of a program have in common, as canonical JSON.

    The names of traced values are among it: one name more, though its value is neutral, can change
    the last bits of a score, which must not depend on who else is trained.

    Args:
      ragged: members may differ in ragged keys.
      filled: all members get the names that may be shared with neutral values.
    """
    hyperparameters = fields.traced(own.config).values()
    names = sorted(h.name for h in hyperparameters if h.active and not (filled and fills(h)))
    tree = {key: v for key, v in fields.static(own.config, ragged).items() if key != "name"}
    return reading.canonical([tree, names, own.source.fingerprint, own.source.pretrained])


def fills(hyperparameter: fields.Hyperparameter) -> bool:
    """Whether a sweep gives it to members for which it is neutral."""
    marker = hyperparameter.marker
    return marker.neutral is not None and not marker.alone


# Members that differ in their word vectors have tables as an input. The tables of all files lie on
# the devices once, J of them with as many rows as the largest has: 4 J V D bytes. Where they would
# take more than a quarter of the memory, there are several programs.


class _Joint(NamedTuple):
    """What a config's members are trained as."""

    program: str  # canonical JSON of all that is compiled in
    problem: Problem
    vectors: str = ""  # by which a member's own table is known; "" where a program has one


def _joined(each: Sequence[Prepared]) -> list[_Joint]:
    """What the members of each config are trained as."""
    families: dict[str, dict[str, Prepared]] = {}
    names = [_family(own) for own in each]
    for own, family in zip(each, names, strict=True):
        if family:
            families.setdefault(family, {}).setdefault(own.source.pretrained, own)
    joints: dict[tuple[str, str], _Joint] = {}
    for family, by_file in families.items():
        files = sorted(by_file)  # whatever the order of the trials
        largest = max(int(own.data.table.vectors.nbytes) for own in by_file.values())
        most = memory.tables_at_once(largest)
        for begin in range(0, len(files), most):
            part = {name: by_file[name] for name in files[begin : begin + most]}
            if len(part) > 1:
                _join(family, part, joints)
    return [
        joints.get((family, own.source.pretrained)) or _Joint(program(own), own.problem)
        for own, family in zip(each, names, strict=True)
    ]


def _family(own: Prepared) -> str:
    """Equal for configs whose members can share a program; "" where there is nothing to share.

    A config whose models are saved has a program of its own: its parameters are no larger than
    its vocabulary.
    """
    if not own.source.pretrained or own.kind.joining is None or own.config.training.save_models:
        return ""
    data = dataclasses.replace(own.config.data, vectors=None)
    config = dataclasses.replace(own.config, data=data)
    source = own.source._replace(pretrained="")
    common = own.kind.joining.key(own.config, own.data)
    return reading.canonical([program(own._replace(config=config, source=source)), common])


def _join(
    family: str, by_file: dict[str, Prepared], joints: dict[tuple[str, str], _Joint]
) -> None:
    """Adds what is trained with the word vectors of several files."""
    first = next(iter(by_file.values()))
    assert first.kind.joining is not None
    data = first.kind.joining.join([own.data for own in by_file.values()])
    source, task = first.kind.build(first.config, data[0])
    splits = {name: each.split for name, each in zip(by_file, data, strict=True)}
    problem = Problem(task, source.corpus, source.split, first.config.training, splits)
    text = reading.canonical([family, [*by_file]])
    joints |= {(family, name): _Joint(text, problem, name) for name in by_file}
