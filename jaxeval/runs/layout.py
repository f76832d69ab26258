"""Layout of a table or of logs: what the user requests, and what column names say."""

import dataclasses
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from jaxeval.errors import DataError, argument

Missing = Literal["error", "drop", "zero"]
Mismatched = Literal["error", "drop", "pair"]
AXES = ("seed", "split", "dataset")
ROLES = ("model", "score", "dev", *AXES, "metric", "unit", "status", "higher_is_better")
PICKS = ("last", "best")  # columns that choose a row of each run
_OF_ITEMS = ("item", "correct", "gold", "predicted", "task", "run", "sample", "cluster")
_IDS = "id idx index number no nr"
# role or kind -> names; case, plural, separators and a trailing id do not count
_NAMES = {
    "model": (
        "model modelname system method algorithm algo approach arch architecture agent classifier "
        "estimator learner wflow keyscheme"
    ),
    "seed": (
        "seed randomseed randomstate run rep repeat repetition cvrepeat replicate trial keyrun"
    ),
    "split": "split fold kfold cv cvfold outerfold outersplit partition keyfold",
    "dataset": (
        "dataset corpus treebank task benchmark game problem language lang langpair languagepair "
        "lp domain env environment keydataset datasetname taskname"
    ),
    "metric": "metric metricname",
    "item": (
        "item example doc document question sentence sent segment seg instance query qid "
        "utterance utt image passage case patient"
    ),
    "resample": "resample bootstrap",
    "status": "status state",
    "score": "score",
    "correct": "correct iscorrect right",
    "gold": "gold goldlabel label target truth groundtruth",
    "predicted": "predicted prediction pred predictedlabel",
    "setting": (
        f"{_IDS} n k num size count rank row version day month year lr learningrate dropout "
        "batchsize hiddensize hidden hiddendim dim layer shot budget temperature parameter param "
        "gpu cpu worker process pid job jobid session experiment exp annotator user"
    ),
}
# kinds by the last word of a name
_STEP = "epoch step iteration iter update checkpoint batch token episode timestep"
_TIME = "time timestamp duration second minute hour runtime walltime elapsed date created"
_KINDS = {"step": _STEP, "time": _TIME, "setting": "std stdev stddev stderr sem"}  # of a mean
_LAST = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_STRATA = {"sent", "seg", "qid", "utt", "case", "patient"}
_COUNTS = ("n", "num", "max", "min")
_PROGRESS = {*f"{_IDS} seen trained processed done completed num n count total".split()}
NESTED = re.compile(r"^(params?|config|args)\.(?!cv$|k_?fold)")  # of MLflow, nested JSON
_ROLE_OF = {word: role for role, words in _NAMES.items() for word in words.split()}


@dataclasses.dataclass(frozen=True)
class Layout:
    """Requested way to read a table or logs."""

    # role -> column name, for columns that are not named as their role. "last" is the column of
    # epochs whose last row is read of each run, "best" the column of dev scores
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # the models to read, none for all; in a wide table, the columns of scores
    models: Sequence[str] = ()
    # the metric to read; of items several names, separated by commas: the first that a data set
    # has
    metric: str | None = None
    # what to do with a score that is missing, not a number or not finite
    missing: Missing = "error"
    higher_is_better: bool | None = None  # None: as the source or the metric's name says
    cluster: str = ""  # key of an item's data that names its cluster (logs)
    tasks: Sequence[str] = ()  # names or patterns of the tasks to read, none for all (logs)
    # what to do with items whose content or prompt differs between logs
    mismatched: Mismatched = "error"
    single: bool = False  # one model is enough, which a table need not name

    def __post_init__(self) -> None:
        for role, name in self.columns.items():
            if role not in (*ROLES, *PICKS, *_OF_ITEMS):
                asked = argument("column", {role: name})
                raise DataError(f"{asked}: expected one of {', '.join((*ROLES, *PICKS))}")


def may_be_stratum(name: str) -> bool:
    """True for the column of an item that may as well be a setting or a stratum of runs."""
    return not _STRATA.isdisjoint(words_of(name))


@functools.lru_cache(1 << 16)
def role(name: str) -> str | None:
    """Returns what a column is by its name: a role, "step", "time", "setting", or None."""
    plain = NESTED.sub("", name)
    if plain != name:  # a parameter metric or state says nothing of the run, cv is a count
        return found if (found := role(plain)) in (*AXES, "model", *_KINDS) else None
    words = [*words_of(name)] or [""]
    # seed1 is a seed; k5 and t5 may be names, f1 is one
    core = [re.sub(r"(?<=[a-z]{2})\d+$", "", w) for w in words if w not in _COUNTS]
    if len(words) > 1 and words[-1] in _IDS.split():
        words.pop()
    known = _ROLE_OF.get("".join(words))
    while len(words) > 1 and words[-1] in _PROGRESS:
        words.pop()
    found = known or _LAST.get(words[-1]) or _ROLE_OF.get("".join(core))
    many = words[0] in _COUNTS and name.endswith("s")  # n_folds, but not num_fold
    return "setting" if many and found in AXES else found


def is_run(name: str) -> bool:
    """True for the column of the names of runs (Weights & Biases)."""
    return "".join(words_of(name)) in ("name", "runname", "runid")


def words_of(name: str) -> tuple[str, ...]:
    """Returns the lower-case singular words of a name: cvFolds, cv_fold and "CV fold" are one."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = (word.lower() for word in re.split(r"[^A-Za-z0-9#]+", apart) if word)
    return tuple(word[:-1] if re.fullmatch(r"..+[^su]s", word) else word for word in words)


def leaves(tree: object, above: str = "") -> Iterator[tuple[str, object]]:
    """Yields dotted keys and values; an empty table is a value."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, f"{above}.{key}" if above else key)
    else:
        yield above, tree


def item_roles(columns: Collection[str]) -> dict[str, str]:
    """Returns role -> column by name: one named as its role first, a nested key last.

    A seed goes before the id of a run, task_name before task_id, but task not before dataset_id.
    """
    found: dict[str, str] = {}
    for name in sorted(columns, key=lambda column: "." in column):
        if (meant := role(name)) in _NAMES and meant != "setting":
            *of, last = words_of(found.setdefault(meant, name))
            if last == "id" and (meant == "seed" or words_of(name) in ((*of,), (*of, "name"))):
                found[meant] = name
    return {meant: meant if meant in columns else name for meant, name in found.items()}
