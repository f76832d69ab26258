"""A population against PyTorch on the same cores, in alternation; the harder peer is named first.

PyTorch trains one member a process. Two kinds of peers have all cores to themselves in turn:
"processes", one process of one thread a core, side by side (what a careful user would run), and
"one_process", one process at its better number of threads, one member after the other. A peer's
seconds for a member are the wall time of a turn, divided by the members in flight.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import common
import numpy as np
import processes


class Peer(NamedTuple):
    """One way for PyTorch to use the machine."""

    way: str  # of its turns, as the file of the member names it
    processes: int
    threads: int  # of each process

    def __str__(self) -> str:
        several = "es" if self.processes > 1 else ""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        each = " each" if several else ""
        return f"{self.processes} PyTorch process{several} of {threads}{each}, {self.way}"


Choices = Mapping[str, Sequence[Peer]]


def choices(ways: Sequence[str], cores: int, suffix: str = "") -> Choices:
    """Both kinds of peers, each with all that it may choose from."""
    threads = sorted({1, cores})
    return {
        f"processes{suffix}": [Peer(way, cores, 1) for way in ways],
        f"one_process{suffix}": [Peer(way, 1, n) for n in threads for way in ways],
    }


class Rounds(NamedTuple):
    """Seconds of wall time for a member's turn, one number a round."""

    ours: list[float]
    theirs: dict[str, list[float]]
    peers: dict[str, Peer]
    results: dict[str, float]  # mean over processes of what the last turn returned


def measure(
    ours: Callable[[], float], group: processes.Group, offered: Choices, rounds: int
) -> Rounds:
    """In every round a turn of ours and one of every peer, each peer in its fastest way.

    `ours` gives the seconds of its turn, divided by the members in it.
    """
    ours()  # a warm-up; so is the first turn of each choice
    peers = {name: _fastest(group, offers) for name, offers in offered.items()}
    measured = Rounds([], {name: [] for name in peers}, peers, {})
    for _ in range(rounds):
        measured.ours.append(ours())
        for name, peer in peers.items():
            turn = group.turn(peer.way, peer.threads, peer.processes)
            measured.theirs[name].append(turn.seconds / peer.processes)
            measured.results[name] = float(np.mean(turn.results))
    return measured


def _fastest(group: processes.Group, peers: Sequence[Peer]) -> Peer:
    """By the better of two turns, taken in alternation: a busy machine stalls two threads."""
    best = dict.fromkeys(peers, float("inf"))
    for number in range(3 if len(peers) > 1 else 1):
        for peer in peers:
            turn = group.turn(peer.way, peer.threads, peer.processes)
            if number > 0:
                best[peer] = min(best[peer], turn.seconds / peer.processes)
    return min(best, key=lambda peer: best[peer])


def summary(
    rounds: Rounds, unit: str, convert: Callable[[float], float] = lambda seconds: seconds
) -> dict[str, Any]:
    """For `common.report`: quartiles of ratios (theirs / ours, by round), the harder peer first.

    `convert` makes of a member's seconds the `unit` that is reported beside them.
    """
    ratios = {
        name: [other / own for own, other in zip(rounds.ours, seconds, strict=True)]
        for name, seconds in rounds.theirs.items()
    }
    order = sorted(ratios, key=lambda name: float(np.median(ratios[name])))

    def converted(seconds: Sequence[float]) -> dict[str, float]:
        return common.quartiles([convert(value) for value in seconds])

    return {
        "hardest_peer": order[0],
        "ratio": {name: common.quartiles(ratios[name]) for name in order},
        unit: converted(rounds.ours),
        "peers": {
            name: {
                **rounds.peers[name]._asdict(),
                unit: converted(rounds.theirs[name]),
                "result": rounds.results[name],
            }
            for name in order
        },
    }


def announce(title: str, rounds: Rounds) -> None:
    """A line for people, to stderr: the JSON on stdout stays alone."""
    seconds = summary(rounds, "seconds")
    ends = [
        f"{ratio['median']:.2f} times ({ratio['min']:.2f} to {ratio['max']:.2f}) as fast as "
        f"{rounds.peers[name]}"
        for name, ratio in seconds["ratio"].items()
    ]
    print(f"{title}: {'; '.join(ends)}", file=sys.stderr)
