"""Equal programs of a test file are traced and compiled once, whichever of its tests asks first.

A program depends on what `cohorts.program` tells, which the package itself relies on within a
session; here it is for all of a file's tests, each of which begins with new sessions.
"""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jax.sharding import Mesh

from jaxeval.contracts import Split, Task
from jaxeval.population import engine, member
from jaxeval.studies import cohorts, prepared


@contextlib.contextmanager
def programs() -> Iterator[None]:
    """While it is entered, equal tasks are one task, and their programs are one program."""
    with pytest.MonkeyPatch.context() as patch:
        _share_tasks(patch)
        _share_engines(patch)
        yield


def _share_tasks(patch: pytest.MonkeyPatch) -> None:
    tasks: dict[str, Task] = {}
    # one of each that a loader remembers; the first of a pair is kept, so that its id is its own
    shared: dict[int, tuple[prepared.Prepared, prepared.Prepared]] = {}
    prepare = prepared.Loader.prepare

    def sharing(self: prepared.Loader, *arguments: Any, **options: Any) -> prepared.Prepared:
        of = prepare(self, *arguments, **options)
        tree, *rest = json.loads(cohorts.program(of))
        del tree["training"]
        task = tasks.setdefault(json.dumps([tree, rest]), of.task)
        return (
            of if task is of.task else shared.setdefault(id(of), (of, of._replace(task=task)))[1]
        )

    patch.setattr(prepared.Loader, "prepare", sharing)


def _share_engines(patch: pytest.MonkeyPatch) -> None:
    engines: dict[tuple, engine.Engine] = {}
    build = engine.build

    def sharing(problem: member.Problem, split: Split, mesh: Mesh) -> engine.Engine:
        # jit keeps what it has compiled for a function: the functions must be the same
        sizes = ("batch_size", "evaluation_batch_size", "micro_batch", "optimiser")
        how = [getattr(problem.training, name) for name in sizes]
        key = problem.task, repr(how), mesh, problem.mode
        if key not in engines:
            built = build(problem, split, mesh)
            engines[key] = built._replace(shared=None)  # a corpus lives no longer than its users
            return built
        return engines[key]._replace(shared=engine._shared(problem, split, mesh))

    patch.setattr(engine, "build", sharing)
