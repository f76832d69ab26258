"""What the name of a column says of it: an axis, a metric, models, or no scores at all."""

import re
from collections.abc import Collection, Iterable

_QUALIFIERS = "n num no number max min total global train wall the of id"
_AXES = {
    "seed": "seed randomseed randomstate rng run rep repeat repetition replicate replication "
    "trial",
    "split": "split fold kfold cv cvfold crossvalidationfold partition",
    "dataset": "dataset data corpus treebank task benchmark game problem language lang domain "
    "env environment",
}
_NO_SCORES = (  # whole names: as a last word some are what a model adds (lstm_dropout)
    "index idx indices # unnamed row item example instance sentence document sample query "
    "question "
    "exp experiment job jobid slurm slurmjob slurmjobid init initialization rank worker "
    "pid process "
    "session k "
    "iter iteration step epoch checkpoint ckpt token update batch count size date day year month "
    "version parameter param lr learningrate dropout bs batchsize hidden hiddendim hiddensize dim "
    "layer shot budget temperature gpu cpu subject participant annotator user id n no number nr"
)
_LAST = (  # last words of names whose whole numbers are no scores
    "id idx index number no nr row item example instance sentence document sample query question "
    "seed fold split run rep repeat trial epoch step iteration batch size count n date day year "
    "month version parameter param layer"
)
_TIMES = "time timestamp duration second minute hour runtime walltime elapsed"
_METRICS = (
    "accuracy acc f1 precision recall loss nll ppl perplexity bleu chrf rouge em mcc auc "
    "auroc wer "
    "cer bpc bit dev val valid validation test train training"
)
_OF_METRICS = (
    "macro micro weighted mean avg average top l lsum at score per char exact match max min best "
    "final last eval evaluation"
)
_MODELS = (
    "model modelname modeltype system method algorithm algo approach arch architecture agent "
    "classifier learner variant name"
)
_STEPS = (
    "epoch step iteration iter itr update checkpoint ckpt batch minibatch token episode timestep"
)
_COUNTED = "seen trained processed done completed id idx index number no nr num n # count total"
_ITEMS = "item example doc document question sentence instance query utterance image passage"
_LOSSES = "loss losse nll cost criterion"
# of answers to items: role -> names
_ANSWERS = {
    "correct": "correct iscorrect right",
    "gold": "gold goldlabel label target truth groundtruth",
    "predicted": "predicted prediction pred predictedlabel",
}


def axis(name: str) -> str | None:
    """The axis that a name alone means."""
    return _AXIS_OF.get("".join(_words(name)))


def is_fold(name: str) -> bool:
    """Whether a name is that of the folds of a cross-validation."""
    return axis(name) == "split" and re.search("fold|cv", name, re.IGNORECASE) is not None


def are_folds(values: Iterable[str]) -> bool:
    """Whether all values of a column of splits are named as folds are: fold0, cv-1."""
    return all(re.match("fold|cv", value, re.IGNORECASE) for value in values)


def is_status(name: str) -> bool:
    """Whether a name is that of how runs ended: status, or State of Weights & Biases."""
    return name.lower() in ("state", "status")


def is_time(name: str) -> bool:
    """Whether a name ends in a unit or a word of time."""
    words = _words(name)
    return bool(words) and words[-1] in _TIME_WORDS


def is_no_score(name: str, *, whole_numbers: bool) -> bool:
    """Whether a name is that of a seed, a fold, progress, a setting or an id.

    Args:
      whole_numbers: whether this is all the column holds: then the last word is enough, while
        "lstm dropout" with fractions is a model.
    """
    parts = [_without_digits(word) for word in _words(name)]
    rest = [word for word in parts if word not in _QUALIFYING] or parts
    known = any("".join(words) in _WHOLE for words in (parts, rest))
    return known or (whole_numbers and bool(parts) and parts[-1] in _LAST_WORDS)


def is_step(name: str) -> bool:
    """Whether a name is that of progress within a run: epoch, trainer/global_step, tokens seen."""
    words = _words(name)
    while len(words) > 1 and words[-1] in _COUNTED_WORDS:
        words.pop()
    return bool(words) and _without_digits(words[-1]) in _STEP_WORDS


def is_item(name: str) -> bool:
    """Whether a name is that of the items that a run answers: item, example_id, doc_id."""
    words = _words(name)
    numbered = len(words) > 1 and words[-1] in ("id", "idx", "index", "number", "no", "nr")
    core = "".join(words[:-1] if numbered else words)
    return core in _ITEM_WORDS or (numbered and core == "sample") or core in ("itemid", "qid")


def answers(columns: Collection[str]) -> dict[str, str]:
    """Role -> column of answers to items, by their names: correct, gold, predicted."""
    by_word = {"".join(_words(name)): name for name in columns}
    found = {}
    for role, words in _ANSWERS.items():
        known = [by_word[word] for word in words.split() if word in by_word]
        if known:
            found[role] = known[0]
    return found


def of_items(columns: Collection[str]) -> dict[str, str]:
    """Role -> column of a table of items: item, model, seed, dataset and answers.

    A column that is called as its role goes before others.
    """
    found = answers(columns)
    for name in columns:
        role = "model" if is_of_models(name) else "item" if is_item(name) else axis(name)
        if role is not None:
            found.setdefault(role, name)
    return {role: role if role in columns else name for role, name in found.items()}


def is_training(name: str) -> bool:
    """Whether a score is of training: train/loss, training_acc; a loss alone is one too."""
    words = _words(name)
    return bool({"train", "training", "trn"} & {*words}) or words == ["loss"]


def is_dev(name: str) -> bool:
    """Whether a score is of development data, by which an epoch may be chosen."""
    return bool({"dev", "val", "valid", "validation"} & {*_words(name)})


def is_test(name: str) -> bool:
    """Whether a score is of test data."""
    return "test" in _words(name)


def is_loss(name: str) -> bool:
    """Whether a score is a loss, which is seldom what models are compared by."""
    return bool(_LOSS_WORDS & {*_words(name)})


def by_worth(columns: Iterable[str]) -> list[str]:
    """Columns of scores, those first that models are compared by; those of training last."""
    return sorted(columns, key=lambda c: (is_training(c), is_loss(c), not is_test(c), is_dev(c)))


def is_metric(name: str) -> bool:
    """Whether a name is that of a metric or a part of the data: f1, dev_f1, rougeL, test."""
    words = _words(name)
    kinds = [{word, _without_digits(word)} for word in words]
    every = all(kind & (_METRIC_WORDS | _METRIC_PARTS) for kind in kinds)
    return every and any(kind & _METRIC_WORDS for kind in kinds)


def is_of_models(name: str) -> bool:
    """Whether a column of this name holds the names of models."""
    return "".join(_words(name)) in _MODEL_WORDS


def _words(name: str) -> list[str]:
    """Lower-case singular words of a name: cvFolds, cv_fold and "CV fold" are alike."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [_singular(word.lower()) for word in re.split(r"[^A-Za-z0-9#]+", apart) if word]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "su" else word


def _without_digits(word: str) -> str:
    """seed1 is a seed; k5 and t5 may be names, f1 is one."""
    bare = word.strip("0123456789")
    return bare if len(bare) > 1 else word


_AXIS_OF = {word: role for role, listed in _AXES.items() for word in listed.split()}
_WHOLE = {*_NO_SCORES.split(), *_AXIS_OF}
_LAST_WORDS, _TIME_WORDS = set(_LAST.split()), set(_TIMES.split())
_METRIC_WORDS, _METRIC_PARTS = set(_METRICS.split()), set(_OF_METRICS.split())
_QUALIFYING = set(_QUALIFIERS.split())
_MODEL_WORDS = set(_MODELS.split())
_STEP_WORDS, _COUNTED_WORDS = set(_STEPS.split()), set(_COUNTED.split())
_ITEM_WORDS, _LOSS_WORDS = set(_ITEMS.split()), set(_LOSSES.split())
