"""Docstrings of verbs: their sections, and the help of arguments that many verbs share."""

import inspect
import textwrap
from collections.abc import Callable, Iterable

_HELP = {  # parameter -> its help, where a verb's docstring has none
    "config": "TOML file, name of a shipped config, or nothing: the default.",
    "changes": "change a config's key; key= unsets it.",
    "data": "the corpus: a folder, a text file, or tfds:NAME.",
    "out": "the runs folder.",
    "seeds": "N (seeds 1 to N), or a list such as 3,5,8.",
    "experiment": "an experiment: its name, its id, or 4 or more first digits of its id.",
    "space": "the search space (TOML).",
    "score": "column of scores (score; test of a runs folder).",
    "column": "ROLE=NAME of columns with other names.",
    "metric": "only rows of this metric.",
    "missing": "how to treat scores that are missing, infinite or not a number.",
    "lower_is_better": "lower scores are better (as the metric's name says, else higher).",
    "alpha": "significance level, after the correction.",
    "margin": "smallest difference that matters, in the unit of the scores.",
    "control": "compare all others with this model only, not all pairs.",
    "resamples": "number of permutations and bootstrap samples.",
    "seed": "seed of the random draws.",
    "rule": (
        "top-two evaluates the probable leader or its challenger, batch draws each slot of a "
        "batch by the probability of being the best, non-adaptive evaluates every model once a "
        "round, sequential-halving spends the budget and halves the field in every round."
    ),
    "delta": (
        "stop when a model is the best with probability 1 - delta (.05; non-adaptive with a "
        "budget: never)."
    ),
    "budget": "maximum number of evaluations.",
    "method": "what proposes settings: a Gaussian process, Sobol points or random draws.",
    "trials": "number of settings.",
    "enqueue": "a setting to evaluate first, as 'NAME=VALUE NAME=VALUE'; may be repeated.",
    "correction": (
        "for many candidates in one ledger: none (alpha holds for each by itself), e-lond (of "
        "those called better, on average at most a share of alpha is wrong) or spending (with "
        "probability 1 - alpha none is wrong)."
    ),
    "note": "what the candidate changes, for the ledger.",
    "statistic": (
        "t compares mean scores (exact for normal scores); wins compares the pairs that each side "
        "wins, for any distribution, and counts a failed seed as lost; betting compares means of "
        "scores from 0 to 1, for any distribution."
    ),
    "json_field": "where the score is in the JSON that a command prints, such as dev.f1.",
    "time_limit": "maximum seconds of one run of a command.",
    "launch": (
        "where to train: local:N in N processes, slurm, slurm:FILE.toml, ray or ray:ADDRESS; "
        "local:1 is this process."
    ),
    "dry_run": "show the plan and stop; nothing is written.",
    "runs": "runs folder.",
    "host": "address to listen on. If it is not this machine's own, a token is needed (printed).",
    "port": "TCP port.",
    "workers": "number of commands at once.",
    "vectors": "a file of word vectors: text (GloVe, word2vec) or word2vec binary; plain or gzip.",
    "against": "further files of vectors.",
    "keep_case": "do not convert words to lower case.",
    "again": "settle a settled comparison of the ledger again, with fresh seeds.",
    "part": "part whose score counts (test on random splits, dev on the data's own split).",
    "pattern": "regular expression whose group is the score; its last match counts.",
    "power": "probability of showing the difference.",
    "modes": "fixed vectors, fine-tuned vectors, or both.",
    "seconds": "maximum wall time of all calls in seconds; then nothing more is proposed.",
    "quiet": "no progress output; signal handlers are left alone.",
}
_HEADS = ("Args:", "Returns:", "Raises:", "Examples:")
_ERRORS = "  ConfigError, DataError, RunError: an argument or the data cannot be used."


def sections(function: Callable[..., object]) -> dict[str, list[str]]:
    """Returns the lines of a docstring in Google's style by section; "" is the text."""
    found: dict[str, list[str]] = {"": []}
    head = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        head = line if line in _HEADS else head
        found.setdefault(head, []).extend([] if line in _HEADS else [line])
    return found


def arguments(lines: Iterable[str]) -> dict[str, str]:
    """Returns the help of each argument in the lines of an Args section."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith("  ") and not line.startswith("    ") and ":" in line:
            name, _, line = line.strip().partition(":")
        for each in name.split(", ") if line.strip() else ():
            found[each] = f"{found.get(each, '')} {line.strip()}".strip()
    return found


def complete(function: Callable[..., object]) -> str:
    """Returns a verb's docstring with the help of shared arguments, and its errors."""
    found: dict[str, list[str]] = {"": [], "Args:": []} | sections(function)
    known = _HELP | arguments(found.get("Args:", ()))
    names = [name for name in inspect.signature(function).parameters if name in known]
    wrap = textwrap.TextWrapper(96, initial_indent="  ", subsequent_indent="    ")
    found["Args:"] = [line for name in names for line in wrap.wrap(f"{name}: {known[name]}")]
    found.setdefault("Raises:", [_ERRORS])
    parts = ["\n".join([head, *lines]).strip() for head, lines in found.items() if lines]
    return "\n\n".join(parts)
