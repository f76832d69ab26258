"""The vocabulary of column names: roles, steps, times, settings and scores."""

import functools
import re
from collections.abc import Collection, Iterable

ITEM_ROLES = ("model", "seed", "item", "dataset", "status")
# role -> names; case, plural, separators and a trailing id do not count
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
# kind -> words of names that are no models
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
_ROLE_OF = {word: role for role, words in _SYNONYMS.items() for word in words.split()}


@functools.lru_cache(1 << 16)
def _words(name: str) -> tuple[str, ...]:
    """Returns the lower-case singular words of a name: cvFolds, cv_fold and "CV fold" are one."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = (word.lower() for word in re.split(r"[^A-Za-z0-9#]+", apart) if word)
    plural = re.compile(r"..+[^su]s")
    return tuple(word[:-1] if plural.fullmatch(word) else word for word in words)


def role(name: str) -> str | None:
    """Returns the role that a column's name means."""
    words = [*_words(name)]
    if len(words) > 1 and words[-1] in _WORDS["numbered"]:
        words.pop()
    return _ROLE_OF.get("".join(words))


def item_roles(columns: Collection[str]) -> dict[str, str]:
    """Returns role -> column of a table of answers; a column named as its role goes first."""
    found: dict[str, str] = {}
    for name in columns:
        if meant := role(name):
            found.setdefault(meant, name)
    return {meant: meant if meant in columns else name for meant, name in found.items()}


def are_folds(name: str, values: Iterable[str]) -> bool:
    """True if splits are folds of a cross-validation, by their column or all values (cv-1)."""
    named = role(name) == "split" and re.search("fold|cv", name, re.IGNORECASE)
    return bool(named) or all(re.match("fold|cv", value, re.IGNORECASE) for value in values)


def is_step(name: str) -> bool:
    """True for progress within a run: epoch, trainer/global_step, tokens seen."""
    words = [*_words(name)]
    while len(words) > 1 and words[-1] in _WORDS["progress"]:
        words.pop()
    return not _WORDS["step"].isdisjoint(words[-1:])


def is_time(name: str) -> bool:
    """True if the name ends in a unit or a word of time."""
    return not _WORDS["time"].isdisjoint(_words(name)[-1:])


def sort_scores(columns: Iterable[str]) -> list[str]:
    """Sorts columns of scores: test scores first, losses and training scores last."""

    def key(name: str) -> tuple[bool, ...]:
        test, dev = has_word(name, "test"), has_word(name, "dev")
        return is_training(name), has_word(name, "loss"), not test, dev

    return sorted(columns, key=key)


def has_word(name: str, kind: str) -> bool:
    """True if the name has a word of a kind: "dev", "test", "loss", "training"."""
    return not _WORDS[kind].isdisjoint(_words(name))


def is_training(name: str) -> bool:
    """True for a training score: train/loss, training_acc, and a loss alone."""
    return has_word(name, "training") or _words(name) == ("loss",)


def is_run(name: str) -> bool:
    """True for the column of the names of runs (Weights & Biases)."""
    return "".join(_words(name)) in ("name", "runname", "runid")


def is_metric(name: str) -> bool:
    """True if all words are those of metrics or parts of the data: f1, dev_f1, rougeL, test."""
    return all({word, _strip_digits(word)} & _WORDS["metric"] for word in _words(name))


def is_setting(name: str, whole_numbers: bool) -> bool:
    """True for a role, a step, a setting or an id.

    For whole numbers the last word decides; "lstm dropout" with fractions is a model.
    """
    words = [_strip_digits(word) for word in _words(name)]
    core = [word for word in words if word not in ("n", "num", "max", "min")]
    known = {"".join(words), "".join(core), *(words[-1:] if whole_numbers else ())}
    axis = role(name) in ("seed", "split", "dataset", "item") or is_step(name)
    return axis or not (known.isdisjoint(_WORDS["setting"]) and known.isdisjoint(_ROLE_OF))


def _strip_digits(word: str) -> str:
    """Makes seed1 a seed; k5 and t5 may be names, f1 is one."""
    return re.sub(r"(?<=[a-z]{2})\d+$", "", word)
