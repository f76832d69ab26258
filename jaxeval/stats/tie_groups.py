"""Which of several models were not told apart: groups instead of ranks.

A group is a largest set of models no two of which were shown to differ; a model may be in several
(A like B and B like C, though A and C differ), as in compact letter displays (Piepho 2004).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet


def groups(models: Sequence[str], apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """All groups, those of the first models first.

    Args:
      models: best first.
      apart: pairs of models that were shown to differ.

    Returns:
      Each model is in at least one; none holds another.
    """
    alike = {name: set(models) - {name} for name in models}
    for pair in apart:
        for name in pair:
            alike[name] -= pair
    places = {name: rank for rank, name in enumerate(models)}
    ordered = (
        tuple(sorted(group, key=places.__getitem__))
        for group in _largest(frozenset(), set(models), set(), alike)
    )
    return sorted(ordered, key=lambda group: [places[name] for name in group])


def _largest(
    group: frozenset[str],
    candidates: AbstractSet[str],
    done: AbstractSet[str],
    alike: Mapping[str, AbstractSet[str]],
) -> Iterator[frozenset[str]]:
    """Maximal cliques that hold a group (Bron & Kerbosch 1973, pivot of Tomita et al. 2006).

    Args:
      candidates, done: models like all of the group; every clique with one of `done` is known.
    """
    if not candidates and not done:
        yield group
        return
    pivot = max(candidates | done, key=lambda name: len(candidates & alike[name]))
    for name in candidates - alike[pivot]:
        of_name = alike[name]
        yield from _largest(group | {name}, candidates & of_name, done & of_name, alike)
        candidates, done = candidates - {name}, done | {name}
