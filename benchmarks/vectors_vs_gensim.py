"""How fast are word vectors read from text, and analogies answered, against gensim?

`read`: a generated word2vec text file, by `vectors.read` and by gensim's load_word2vec_format;
seconds. `analogies`: questions over a generated word2vec binary file, all words being candidates,
by `analogies._solve` (both methods) and by gensim's evaluate_word_analogies (3CosAdd, which is all
it has) on the first --asked questions, since it takes each by itself; questions per second. Wall
and CPU seconds, without imports; for analogies also without reading. Every turn is a process of
its own, ours and gensim's in alternation; gensim in the Python that --gensim names.

    python benchmarks/vectors_vs_gensim.py read --gensim OTHER/bin/python
    python benchmarks/vectors_vs_gensim.py analogies --gensim OTHER/bin/python
    python benchmarks/vectors_vs_gensim.py read --words 1000000 --rounds 1       # ours alone
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_TURN = """\
import json, resource, sys, time
path, questions, asked = sys.argv[1:]
def lap(last=[None]):
    now = time.perf_counter(), time.process_time()
    if last[0]:
        took = [b - a for a, b in zip(last[0], now)]
        print(json.dumps({"wall": took[0], "cpu": took[1],
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
    last[0] = now
"""
_OURS = {
    "read": "from jaxeval.data import vectors\nlap()\nread = vectors.read(path)\nlap()\n",
    "analogies": """\
from jaxeval import vectors
from jaxeval.vectors import analogies
read, asked = vectors.read(path), analogies.read(questions)
for method in analogies.METHODS:
    lap(); analogies.answer(asked, read, method); lap(); lap.__defaults__[0][0] = None
""",
}
_GENSIMS = {
    "read": """\
from gensim.models import KeyedVectors
lap()
KeyedVectors.load_word2vec_format(path)
lap()
""",
    "analogies": """\
import itertools, os, tempfile
from gensim.models import KeyedVectors
read = KeyedVectors.load_word2vec_format(path, binary=True)
read.fill_norms()
with tempfile.NamedTemporaryFile("w", suffix=".txt") as some:
    some.writelines(itertools.islice(open(questions), int(asked) + 1)); some.flush()
    lap()
    read.evaluate_word_analogies(some.name, restrict_vocab=len(read))
    lap()
""",
}


def main() -> None:
    """Makes the files, takes turns, prints one JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("read", "analogies"))
    parser.add_argument("--gensim", metavar="PYTHON", help="that has gensim; absent: ours alone")
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--asked", type=int, default=200, help="questions for gensim")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, questions = Path(folder, "vectors"), Path(folder, "questions.txt")
        count = _write_questions(questions, args.words)
        (_write_text if args.what == "read" else _write_binary)(path, args.words, args.size)
        turns: dict[str, list[list[dict[str, float]]]] = {"ours": [], "gensim": []}
        for _ in range(args.rounds):
            arguments = (path, questions, args.asked)
            turns["ours"].append(_turn(sys.executable, _OURS[args.what], *arguments))
            if args.gensim:
                turns["gensim"].append(_turn(args.gensim, _GENSIMS[args.what], *arguments))
    print(json.dumps({**_summary(args, turns, count), **_machine(args)}))


def _turn(python: str, code: str, *arguments: object) -> list[dict[str, float]]:
    """What a process says of each of its laps."""
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [python, "-c", _TURN + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _summary(
    args: argparse.Namespace, turns: dict[str, list[list[dict[str, float]]]], count: int
) -> dict[str, Any]:
    """Of each side and lap all its figures; ratios by round, of the slower of our laps."""
    summary: dict[str, Any] = {"benchmark": f"vectors_vs_gensim {args.what}"}
    questions = {"ours": count, "gensim": args.asked}
    for side, rounds in turns.items():
        for lap in range(len(rounds[0]) if rounds else 0):
            figures = {key: [round(r[lap][key], 2) for r in rounds] for key in rounds[0][lap]}
            if args.what == "analogies":
                figures["per_second"] = [
                    round(questions[side] / r[lap]["wall"], 1) for r in rounds
                ]
            summary[f"{side}_{lap}" if len(rounds[0]) > 1 else side] = figures
    more = count / args.asked if args.what == "analogies" else 1.0
    for key in ("wall", "cpu") if args.gensim else ():
        summary[f"ratio_{key}"] = [
            round(more * theirs[0][key] / max(lap[key] for lap in ours), 2)
            for ours, theirs in zip(turns["ours"], turns["gensim"], strict=True)
        ]
    return summary


def _write_questions(path: Path, words: int) -> int:
    """Fourteen sections of all ordered pairs of 37 pairs of words: 18,648 questions."""
    drawn = np.random.default_rng(0).choice(words, (14, 37, 2), replace=False)
    lines = []
    for number, section in enumerate(drawn.tolist()):
        lines.append(f": section{number}")
        lines += [
            f"w{a} w{b} w{c} w{d}" for a, b in section for c, d in section if (a, b) != (c, d)
        ]
    path.write_text("\n".join(lines) + "\n")
    return len(lines) - 14


def _write_text(path: Path, words: int, size: int) -> None:
    """Five decimals a number; 2,000 different vectors."""
    table = np.random.default_rng(0).normal(size=(2000, size))
    rows = [" ".join([f"{x:.5f}" for x in row]) for row in table.tolist()]
    with path.open("w") as stream:
        stream.write(f"{words} {size}\n")
        stream.writelines(f"w{k} {rows[k % len(rows)]}\n" for k in range(words))


def _write_binary(path: Path, words: int, size: int) -> None:
    generator = np.random.default_rng(0)
    with path.open("wb") as stream:
        stream.write(f"{words} {size}\n".encode())
        for start in range(0, words, 10_000):
            block = generator.standard_normal((min(10_000, words - start), size), np.float32)
            stream.writelines(
                f"w{k} ".encode() + row.tobytes() + b"\n" for k, row in enumerate(block, start)
            )


def _machine(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "words": args.words,
        "size": args.size,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    main()
