"""What a column's name says of it: its role, a step, a time, a setting, a score."""

import functools
import re
from collections.abc import Collection, Iterable

ROLES = ("model", "seed", "item", "dataset", "status")  # of a table of answers, beside these
# role -> names; case, plural, separators, and an id behind a name do not count
_SYNONYMS = {
    "model": "model modelname system method algorithm approach arch architecture agent classifier",
    "seed": "seed randomseed randomstate run rep repeat repetition replicate trial",
    "split": "split fold kfold cv cvfold partition",
    "dataset": "dataset corpus treebank task benchmark game problem language lang domain env",
    "item": "item example doc document question sentence instance query utterance image passage",
    "status": "status state",
    "score": "score",
    "correct": "correct iscorrect right",
    "gold": "gold goldlabel label target truth groundtruth",
    "predicted": "predicted prediction pred predictedlabel",
}
_NUMBERED = "id idx index number no nr"
# kind -> words
_KINDS = {
    "numbered": _NUMBERED,
    "progress": f"{_NUMBERED} seen trained processed done completed num n count total",
    "step": "epoch step iteration iter update checkpoint batch token episode timestep",
    "time": "time timestamp duration second minute hour runtime walltime elapsed date created",
    "setting": (
        f"{_NUMBERED} n k num size count rank row version day month year lr learningrate dropout "
        "batchsize hiddensize hidden hiddendim dim layer shot budget temperature parameter param "
        "gpu cpu worker process pid job jobid session experiment exp annotator user"
    ),
    "metric": (
        "accuracy acc f1 precision recall loss nll ppl perplexity bleu chrf rouge rougel em mcc "
        "auc wer cer bpc bit dev val valid validation test train training macro micro weighted "
        "mean avg average exact match max min best final last score eval evaluation"
    ),
    "training": "train training trn",
    "dev": "dev val valid validation",
    "test": "test",
    "loss": "loss nll cost",
}
_WORDS = {kind: frozenset(words.split()) for kind, words in _KINDS.items()}
_ROLES = {word: role for role, words in _SYNONYMS.items() for word in words.split()}


def role(name: str) -> str | None:
    """The role that a name alone means."""
    words = [*_words(name)]
    if len(words) > 1 and words[-1] in _WORDS["numbered"]:
        words.pop()
    return _ROLES.get("".join(words))


def of_items(columns: Collection[str]) -> dict[str, str]:
    """Role -> column of a table of answers; one that is called as its role goes before others."""
    found: dict[str, str] = {}
    for name in columns:
        meant = role(name)
        if meant is not None:
            found.setdefault(meant, name)
    return {meant: meant if meant in columns else name for meant, name in found.items()}


def are_folds(name: str, values: Iterable[str]) -> bool:
    """Whether splits are the folds of a cross-validation, by their column or all values (cv-1)."""
    named = role(name) == "split" and re.search("fold|cv", name, re.IGNORECASE)
    return bool(named) or all(re.match("fold|cv", value, re.IGNORECASE) for value in values)


def is_run(name: str) -> bool:
    """Whether a column is that of the names of runs (Weights & Biases)."""
    return "".join(_words(name)) in ("name", "runname", "runid")


def is_time(name: str) -> bool:
    """Whether a name ends in a unit or a word of time."""
    return not _WORDS["time"].isdisjoint(_words(name)[-1:])


def is_step(name: str) -> bool:
    """Whether a name is that of progress within a run: epoch, trainer/global_step, tokens seen."""
    words = [*_words(name)]
    while len(words) > 1 and words[-1] in _WORDS["progress"]:
        words.pop()
    return not _WORDS["step"].isdisjoint(words[-1:])


def is_setting(name: str, *, whole_numbers: bool) -> bool:
    """Whether a name is that of a seed, progress, a setting or an id.

    Args:
      whole_numbers: whether this is all the column holds: then the last word is enough, while
        "lstm dropout" with fractions is a model.
    """
    words = [_without_digits(word) for word in _words(name)]
    core = [word for word in words if word not in ("n", "num", "max", "min")]
    known = {"".join(words), "".join(core), *(words[-1:] if whole_numbers else ())}
    axes = role(name) in ("seed", "split", "dataset", "item") or is_step(name)
    return axes or not (known.isdisjoint(_WORDS["setting"]) and known.isdisjoint(_ROLES))


def is_training(name: str) -> bool:
    """Whether a score is of training: train/loss, training_acc; a loss alone is one too."""
    return is_of(name, "training") or _words(name) == ("loss",)


def is_of(name: str, kind: str) -> bool:
    """Whether a name has a word of a kind: "dev", "test", "loss", "training"."""
    return not _WORDS[kind].isdisjoint(_words(name))


def by_worth(columns: Iterable[str]) -> list[str]:
    """Columns of scores, those first that models are compared by; those of training last."""

    def worth(name: str) -> tuple[bool, ...]:
        return (
            *(is_training(name), is_of(name, "loss")),
            *(not is_of(name, "test"), is_of(name, "dev")),
        )

    return sorted(columns, key=worth)


def is_metric(name: str) -> bool:
    """Whether a name is that of a metric or a part of the data: f1, dev_f1, rougeL, test."""
    return all({word, _without_digits(word)} & _WORDS["metric"] for word in _words(name))


def _without_digits(word: str) -> str:
    """seed1 is a seed; k5 and t5 may be names, f1 is one."""
    return re.sub(r"(?<=[a-z]{2})\d+$", "", word)


@functools.lru_cache(1 << 16)
def _words(name: str) -> tuple[str, ...]:
    """Lower-case singular words of a name: cvFolds, cv_fold and "CV fold" are alike."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = (word.lower() for word in re.split(r"[^A-Za-z0-9#]+", apart) if word)
    plural = re.compile(r"..+[^su]s")
    return tuple(word[:-1] if plural.fullmatch(word) else word for word in words)
