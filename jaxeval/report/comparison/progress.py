"""How far a comparison is, on stderr."""

import sys
import time
from collections.abc import Callable

from jaxeval.report.text import duration

_SECONDS = 5.0  # until the first line, and between two


def shown() -> Callable[[float], None]:
    """What is told the share that is done, and says so where a comparison takes its time."""
    begun = spoken = time.monotonic()

    def told(share: float) -> None:
        nonlocal spoken
        now = time.monotonic()
        if now - spoken >= _SECONDS and share > 0:
            spoken = now
            left = duration((now - begun) * (1 - share) / share)
            print(f"comparing: {share:.0%} done, about {left} left", file=sys.stderr, flush=True)

    return told
