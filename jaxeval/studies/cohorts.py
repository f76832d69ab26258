"""Which trials share a compiled program, and the arguments with which each of them calls it.

A program has as many lanes as memory holds.
"""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxeval import backend, runs, tasks
from jaxeval.config import fields, reading
from jaxeval.contracts import Member
from jaxeval.data import corpora
from jaxeval.errors import ConfigError
from jaxeval.population import Training
from jaxeval.population.member import Problem, parameter_shapes
from jaxeval.studies import costs, prepared
from jaxeval.studies.prepared import Prepared, Study, Trial

_Key = tuple[str, int, int, int, str]  # experiment, seed, split, repeat, hparams


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A trial with what it is trained on."""

    trial: Trial
    prepared: Prepared  # of its own config
    record: runs.Experiment  # of its config or its study

    @property
    def key(self) -> _Key:
        """Key of the trial in the runs database."""
        trial = self.trial
        return self.record.id, trial.seed, trial.split, trial.repeat, trial.hparams


class Cohort(NamedTuple):
    """Trials that are members of one population."""

    entries: tuple[Entry, ...]
    members: tuple[Member, ...]  # of each entry
    config: Any  # of the program, with the sizes that members are padded to
    problem: Problem
    program: str  # canonical JSON of all that is compiled in: equal if programs are shared
    name: str  # of its checkpoints and its lock
    estimate: costs.Estimate | None = None
    steps: int = 0  # least number of steps of an epoch that the program has room for
    filled: bool = False  # members have neutral values of a `padding.OpenProgram`
    pause: int = 0  # epoch after which its only member pauses; 0: never

    @property
    def records(self) -> tuple[runs.Experiment, ...]:
        """The records of its entries, each once."""
        return tuple({entry.record.id: entry.record for entry in self.entries}.values())


def entries(trials: Iterable[Trial], loader: prepared.Loader) -> list[Entry]:
    """Checks configs and reads data of trials, each config once; raises as `Loader.prepare`."""
    known: dict[tuple[str, bool], Prepared] = {}
    records: dict[Study, runs.Experiment] = {}

    def load(config: Mapping[str, Any], random_splits: bool) -> Prepared:
        key = reading.canonical(config), random_splits
        if key not in known:
            kind = tasks.kind_of(config.get("task", "tagging"))
            known[key] = loader.prepare(reading.read(kind.Config, config), random_splits)
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
    """Groups different trials by program; those that differ in word vectors share one.

    Equal members are trained apart: repeats of a seed, and configs that differ only in what
    neither of them uses.
    """
    groups: dict[tuple[str, int], list[tuple[Entry, Member]]] = {}
    problems: dict[str, Problem] = {}
    alike: collections.Counter[tuple[str, Member]] = collections.Counter()
    each = [*{entry.key: entry for entry in trained}.values()]
    of_config = {id(entry.prepared): entry for entry in each}  # one of many seeds
    joints = _joined([entry.prepared for entry in of_config.values()])
    known = {
        key: (member(entry), *joint)
        for (key, entry), joint in zip(of_config.items(), joints, strict=True)
    }
    for entry in each:
        one, text, problem, vectors = known[id(entry.prepared)]
        trial = entry.trial
        who = Member(trial.seed, trial.split, one.hparams, trial.repeat, vectors)
        again = text, dataclasses.replace(who, repeat=0)
        problems.setdefault(text, problem)
        groups.setdefault((text, alike[again]), []).append((entry, who))
        alike[again] += 1
    cohorts = []
    for (text, _), group in groups.items():
        chosen, members = zip(*group, strict=True)
        ids = sorted({entry.record.id for entry in chosen})
        name = ids[0] if len(ids) == 1 else reading.digest(" ".join(ids))
        config = chosen[0].prepared.config
        cohorts.append(Cohort(chosen, members, config, problems[text], text, name))
    return cohorts


def member(entry: Entry, more: Mapping[str, float] | None = None) -> Member:
    """Returns an entry's member, with its config's active traced values, and `more`."""
    values = {**(more or {}), **fields.active(entry.prepared.config)}
    trial = entry.trial
    return Member(trial.seed, trial.split, tuple(sorted(values.items())), trial.repeat)


def program(own: Prepared, ragged: bool = False, filled: bool = False) -> str:
    """Returns all that members of a program have in common, as canonical JSON.

    It holds the names of traced values: one name more, even with a neutral value, can change the
    last bits of a score, which must not depend on other members.

    Args:
      ragged: members may differ in ragged keys.
      filled: all members get the names that may be shared with neutral values.
    """
    hyperparameters = fields.traced(own.config).values()
    names = sorted(h.name for h in hyperparameters if h.active and not (filled and fills(h)))
    tree = {key: v for key, v in fields.static(own.config, ragged).items() if key != "name"}
    return reading.canonical([tree, names, own.data.fingerprint, own.data.pretrained])


def fills(hyperparameter: fields.Hyperparameter) -> bool:
    """True if a sweep gives it to members for which it is neutral."""
    marker = hyperparameter.marker
    return marker.neutral is not None and not marker.alone


# Members that differ in word vectors have tables as an input. The tables of all J files are on
# the devices once, each with as many rows as the largest: 4 J V D bytes. If they would take more
# than a quarter of the memory, there are several programs.

# what a config's members are trained as: program, problem, and the name of a member's own table,
# "" if the program has only one
_Joint = tuple[str, Problem, str]


def _joined(each: Sequence[Prepared]) -> list[_Joint]:
    families: dict[str, dict[str, Prepared]] = {}
    names = [_family(own) for own in each]
    for own, family in zip(each, names, strict=True):
        if family:
            families.setdefault(family, {}).setdefault(own.data.pretrained, own)
    joints: dict[tuple[str, str], _Joint] = {}
    for family, by_file in families.items():
        files = sorted(by_file)  # whatever the order of the trials
        largest = max(int(own.data.table.vectors.nbytes) for own in by_file.values())
        copies = jax.device_count() if jax.devices()[0].platform == "cpu" else 1  # share memory
        most = max(1, int(_bytes() / 4 // max(largest * copies, 1)))
        for begin in range(0, len(files), most):
            part = {name: by_file[name] for name in files[begin : begin + most]}
            if len(part) < 2:
                continue
            first = next(iter(part.values()))
            text = reading.canonical([family, [*part]])
            data = corpora.join([own.data for own in part.values()])
            _, task = first.kind.build(first.config, data[0])
            splits = {name: own.split for name, own in zip(part, data, strict=True)}
            whole = data[0]
            problem = Problem(task, whole.corpus, whole.split, first.config.training, splits)
            joints |= {(family, name): (text, problem, name) for name in part}
    return [
        joints.get((family, own.data.pretrained)) or (program(own), own.problem, "")
        for own, family in zip(each, names, strict=True)
    ]


def _family(own: Prepared) -> str:
    """Equal for configs whose members can share a program; "" if there is nothing to share.

    A config whose models are saved has a program of its own: its parameters must be no larger than
    its vocabulary.
    """
    if not own.data.pretrained or own.kind.joining is None or own.config.training.save_models:
        return ""
    settings = dataclasses.replace(own.config.data, vectors=None)
    config = dataclasses.replace(own.config, data=settings)
    data = dataclasses.replace(own.data, pretrained="")
    common = own.kind.joining(own.config, own.data)
    return reading.canonical([program(own._replace(config=config, data=data)), common])


def shape_of(own: Prepared) -> costs.Shape:
    """Returns what the program of a sweep's run must hold."""
    member_sizes = own.kind.member_sizes
    text = program(own, ragged=member_sizes is not None, filled=True)
    return costs.Shape(text, member_sizes and member_sizes(own.config, own.data))


class TooLarge(ConfigError):
    """A single member does not fit into memory."""


def parameters(problem: Problem, who: Member) -> int:
    """Returns the number of a member's trained parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(parameter_shapes(problem, who)))


def refuse_too_large(problem: Problem, who: Member) -> None:
    """Raises TooLarge if a single member does not fit into memory.

    Counts its parameters, best parameters and gradients; moments of the optimiser and the corpus
    come on top.
    """
    count = parameters(problem, who)
    available = _bytes()
    needed = _needed(count, problem.training, 1)
    if needed > available:
        raise TooLarge(
            f"model: {count:,} parameters need at least {needed / 2**30:,.1f} GB per member "
            f"(parameters, gradients, best parameters), but there are {available / 2**30:,.1f} "
            "GB; choose smaller sizes"
        )


def lanes_for(problem: Problem, members: Sequence[Member], lanes: int | None) -> int:
    """Returns the lanes of a population, halved until they fit into memory.

    `lanes`: as of `running.run`.
    """
    width = problem.training.width(lanes or len(members))
    count = parameters(problem, members[0])
    while width > jax.device_count() and not fits(count, problem.training, width):
        width //= 2
    return width


def fewer(lanes: int, error: Exception) -> int:
    """Returns half as many lanes, for another try after the memory was exhausted.

    Raises:
      TooLarge: there was one lane a device.
      Exception: the error, if it is another one, or met one process of a population's several.
    """
    exhausted = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
    if not exhausted or jax.process_count() > 1:
        raise error
    if lanes <= jax.device_count():
        said = str(error).partition("\n")[0]
        raise TooLarge(f"out of memory with one member per device ({said}); choose smaller sizes")
    return lanes // 2


def fits(parameters: int, training: Training, members: int) -> bool:
    """True if a population of `members`, each of so many parameters, is not refused."""
    return _needed(parameters, training, members) <= _bytes()


def _needed(parameters: int, training: Training, members: int) -> int:
    """Least bytes of a memory; the devices of a CPU share it."""
    width = training.width(members)
    devices = jax.devices()
    width = width if devices[0].platform == "cpu" else -(-width // len(devices))
    return 4 * parameters * (2 * width + 1)


def _bytes() -> float:
    """Memory of a device; on a CPU all that the process may have."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return backend.memory()
    return float((device.memory_stats() or {}).get("bytes_limit", float("inf")))
