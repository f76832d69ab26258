"""Which of several models were not told apart: groups instead of ranks.

A group is a largest set of models no two of which were shown to differ; a model may be in several
(A like B and B like C, though A and C differ), as in compact letter displays (Piepho 2004).
"""

from collections.abc import Collection, Sequence


def groups(models: Sequence[str], apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """All groups, those of the first models first.

    Args:
      models: best first.
      apart: pairs of models that were shown to differ.

    Returns:
      Each model is in at least one; none holds another.
    """
    parts = [set(models)]
    for pair in sorted(apart, key=sorted):
        split = []
        for part in parts:
            split += [part - {name} for name in pair] if pair <= part else [part]
        # what another part holds says nothing more
        parts = [
            part
            for n, part in enumerate(split)
            if part
            and not any(part < other or (part == other and m < n) for m, other in enumerate(split))
        ]
    places = {name: rank for rank, name in enumerate(models)}
    ordered = (tuple(sorted(part, key=places.__getitem__)) for part in parts)
    return sorted(ordered, key=lambda group: [places[name] for name in group])
