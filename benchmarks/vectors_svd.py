"""How long does a PPMI-SVD baseline of 17 million tokens take, and in how much memory?

Without --corpus, Zipf's law gives one: words k = 1, 2, ... of probability 1 / (k + 2.7), in lines
of 25. Seconds, peak memory of the process and of the largest of its children, and the
size of the counts. The options are those of the verb, with its defaults otherwise.

    python benchmarks/vectors_svd.py --tokens 17000000 --window 2 --dimension 100
    python benchmarks/vectors_svd.py --corpus wikitext2/train.txt --min-count 20
"""

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy

from jaxeval.vectors import svd

_LINE = 25  # tokens
_TYPES = 300_000


def main() -> None:
    """Makes the vectors, prints one JSON line."""
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        path = args.corpus or _zipf(Path(folder, "corpus.txt"), args.tokens)
        begin = time.perf_counter()
        summary = svd.make(
            path,
            Path(folder, "v.txt"),
            window=args.window,
            dimension=args.dimension,
            min_count=args.min_count,
            processes=args.processes,
        )
        wall = time.perf_counter() - begin
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in (own, children))
    print(
        json.dumps(
            {
                "benchmark": "vectors_svd",
                **summary._asdict(),
                "wall_seconds": round(wall, 1),
                "cpu_seconds_with_corpus": round(cpu, 1),
                "peak_mib": round(own.ru_maxrss / 1024),
                "peak_mib_of_a_child": round(children.ru_maxrss / 1024),
                "window": args.window,
                "dimension": args.dimension,
                "processes": args.processes,
                "cores": os.cpu_count(),
                "load": os.getloadavg()[0],
                "python": platform.python_version(),
                "scipy": scipy.__version__,
            }
        )
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--tokens", type=int, default=17_000_000)
    parser.add_argument("--min-count", type=int, default=100)
    parser.add_argument("--window", type=int, default=2)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser.parse_args()


def _zipf(path: Path, tokens: int) -> Path:
    """A corpus of independent words."""
    generator = np.random.default_rng(0)
    share = 1 / (np.arange(_TYPES) + 2.7)
    below = np.cumsum(share / share.sum())
    with path.open("w") as stream:
        for start in range(0, tokens, 1_000_000):
            size = min(1_000_000, tokens - start)
            words = np.searchsorted(below, generator.random(size)).tolist()
            for first in range(0, size, _LINE):
                stream.write(" ".join([f"w{k}" for k in words[first : first + _LINE]]) + "\n")
    return path


if __name__ == "__main__":
    main()
