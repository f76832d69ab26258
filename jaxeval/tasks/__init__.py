"""Tasks, a file each: where corpus, model, loss and metric meet."""

from jaxeval.errors import ConfigError
from jaxeval.tasks import classification, language, language_evaluation, seq2seq, tagging
from jaxeval.tasks.kind import Kind

KINDS: dict[str, Kind] = {
    "tagging": tagging.KIND,
    "language": language.KIND._replace(predict=language_evaluation.predict),
    "seq2seq": seq2seq.KIND,
    "pairs": classification.PAIRS,
    "sentiment": classification.SENTIMENT,
}


def kind_of(task: str, where: str = "") -> Kind:
    """Returns the kind of a task; raises ConfigError (after `where`) for an unknown one."""
    if not isinstance(task, str) or task not in KINDS:
        raise ConfigError(f"{where}task: expected one of {', '.join(KINDS)}, got {task!r}")
    return KINDS[task]
