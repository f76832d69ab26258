"""What goes on in another thread, told in this one."""

import concurrent.futures
import queue
from collections.abc import Callable, Iterator

from jaxeval.population.reports import Compilation

Compile = Callable[[Callable[[str, float | None], None]], object]


def told(compile: Compile) -> Iterator[Compilation]:
    """Tells of a compilation while it goes on in other threads.

    Args:
      compile: compiles, and calls what it is given as `engine.compile_all` does.
    """
    events: queue.SimpleQueue[Compilation | None] = queue.SimpleQueue()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    compiling = pool.submit(
        compile, lambda program, seconds: events.put(Compilation(program, seconds))
    )
    compiling.add_done_callback(lambda _: events.put(None))
    pool.shutdown(wait=False)  # a signal need not wait for what runs
    yield from iter(events.get, None)
    compiling.result()
