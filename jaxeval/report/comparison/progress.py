"""How far a comparison is, on stderr."""

import sys
import time
from collections.abc import Callable

from jaxeval.errors import argument
from jaxeval.report.text import duration

_SECONDS = 5.0  # until the first line, and between two
_LONG = 300.0  # seconds


def shown(all_pairs: bool = True) -> Callable[[float], None]:
    """What is told the share that is done, and says so where a comparison takes its time.

    Args:
      all_pairs: are compared, so that a control would save time.
    """
    begun = spoken = time.monotonic()

    def told(share: float) -> None:
        nonlocal spoken
        now = time.monotonic()
        if now - spoken >= _SECONDS and share > 0:
            spoken = now
            left = (now - begun) * (1 - share) / share
            said = f"comparing: {share:.0%} done, about {duration(left)} left"
            if all_pairs and left > _LONG:
                said += f"; {argument('control', 'MODEL')} compares the others with one alone"
            print(said, file=sys.stderr, flush=True)

    return told
