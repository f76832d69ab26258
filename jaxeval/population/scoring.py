"""Scores trained parameters, apart from any training."""

from collections.abc import Mapping, Sequence
from typing import Literal

import jax
import numpy as np

from jaxeval.contracts import Member, Tree
from jaxeval.population import engine, lanes
from jaxeval.population.problem import Problem


class Scorer:
    """Members with their parameters, ready to be scored in any way that their task knows."""

    def __init__(
        self,
        problem: Problem,
        members: Sequence[Member],
        params: Sequence[Tree],
        devices: Sequence[jax.Device] | None = None,
    ):
        mesh = lanes.make_mesh(devices)
        self._task, self._members, self._mesh = problem.task, members, mesh
        width = lanes.round_up(len(members), mesh)
        # idle lanes repeat the last member and score no rows
        self._member_of = [min(k, len(members) - 1) for k in range(width)]
        self._active = [k < len(members) for k in range(width)]
        first = problem.split_of(members[0])
        self._engine = engine.build(
            problem.program,
            problem.corpus,
            first,
            mesh,
            lanes.resolve(problem.training.lane_mode),
        )
        longest = engine.most_steps(members, first)
        self._lanes = [
            engine.lane_of(problem.program, who, problem.split_of(who), longest) for who in members
        ]
        self._params = self._stacked(params)

    def _stacked(self, each: Sequence[Tree]) -> Tree:
        chosen = [each[k] for k in self._member_of]
        return lanes.shard(jax.tree.map(lambda *leaves: np.stack(leaves), *chosen), self._mesh)

    def scores(
        self, part: Literal["dev", "test"], changes: Sequence[Mapping[str, float]] | None = None
    ) -> list[dict[str, float]]:
        """Scores of each member on a part of the corpus.

        Args:
          changes: hyperparameters that are added for each member; the same names each time
            compile nothing anew.
        """
        each = self._lanes
        if changes is not None:
            each = [
                engine.with_hparams(lane, more) for lane, more in zip(each, changes, strict=True)
            ]
        stacked = self._stacked(each)
        flags = lanes.shard(np.array(self._active), self._mesh)
        counts = jax.device_get(
            self._engine.evaluate(
                self._engine.shared, self._params, stacked.inputs, getattr(stacked, part), flags
            )
        )
        return [
            self._task.score({name: float(values[k]) for name, values in counts.items()})
            for k in range(len(self._members))
        ]
