"""The kinds of tasks that there are: a new one is a line here.

A task outside of this package adds its own: `registry.KINDS["parity"] = parity.KIND`.
"""

from jaxeval.errors import ConfigError
from jaxeval.tasks import (
    language,
    language_prediction,
    pairs,
    pairs_prediction,
    sentiment,
    sentiment_prediction,
    seq2seq,
    seq2seq_prediction,
    tagging,
    tagging_prediction,
)
from jaxeval.tasks.kind import Kind

KINDS: dict[str, Kind] = {
    "tagging": tagging.KIND._replace(predict=tagging_prediction.predict),
    "language": language.KIND._replace(predict=language_prediction.predict),
    "seq2seq": seq2seq.KIND._replace(predict=seq2seq_prediction.predict),
    "pairs": pairs.KIND._replace(predict=pairs_prediction.predict),
    "sentiment": sentiment.KIND._replace(predict=sentiment_prediction.predict),
}


def kind(task: str) -> Kind:
    """The kind of a task.

    Raises:
      ConfigError: no such task.
    """
    if not isinstance(task, str) or task not in KINDS:
        raise ConfigError(f"task: expected one of {', '.join(KINDS)}, got {task!r}")
    return KINDS[task]
