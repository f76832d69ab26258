"""The kinds of tasks that there are: a new one is a line here.

A task outside of this package adds its own: `registry.KINDS["parity"] = parity.KIND`.
"""

from jaxeval.errors import ConfigError
from jaxeval.tasks import language, language_evaluation, pairs, sentiment, seq2seq, tagging
from jaxeval.tasks.kind import Kind

KINDS: dict[str, Kind] = {
    "tagging": tagging.KIND,
    "language": language.KIND._replace(predict=language_evaluation.predict),
    "seq2seq": seq2seq.KIND,
    "pairs": pairs.KIND,
    "sentiment": sentiment.KIND,
}


def kind(task: str) -> Kind:
    """The kind of a task; raises ConfigError where there is none."""
    if not isinstance(task, str) or task not in KINDS:
        raise ConfigError(f"task: expected one of {', '.join(KINDS)}, got {task!r}")
    return KINDS[task]
