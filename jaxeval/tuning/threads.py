"""Linear algebra in one thread: the matrices here are small, and more threads wait for each other.

Nor should what is proposed depend, in its last digits, on how many cores a machine has.
"""

import contextlib
import functools

import threadpoolctl


@functools.cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """Those that are loaded; to look for them takes milliseconds."""
    return threadpoolctl.ThreadpoolController()


def one() -> contextlib.AbstractContextManager[object]:
    """Limits numpy's and scipy's linear algebra to one thread."""
    limited: contextlib.AbstractContextManager[object] = _libraries().limit(
        limits=1, user_api="blas"
    )
    return limited
