"""Linear algebra in one thread: the matrices here are small, and more threads wait for each other.

Nor should what is proposed depend, in its last digits, on how many cores a machine has.
"""

import contextlib
import functools

import threadpoolctl


@functools.cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """Those of numpy and scipy; to look for them takes milliseconds."""
    from scipy import linalg  # noqa: F401 - scipy's own library is not loaded before

    return threadpoolctl.ThreadpoolController()


def one() -> contextlib.AbstractContextManager[object]:
    """Limits numpy's and scipy's linear algebra to one thread."""
    limited: contextlib.AbstractContextManager[object] = _libraries().limit(
        limits=1, user_api="blas"
    )
    return limited
