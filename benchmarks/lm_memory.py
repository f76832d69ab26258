"""How much memory does a population of language models with a large vocabulary take?

Trains a few steps and prints the peak of the process beside what its parts come to: parameters,
best parameters and two moments of all members, and the scores of a slice of positions (all of
them would be time x batch x vocabulary a member). One JSON line.

    python benchmarks/lm_memory.py --data wikitext2 --hidden 200 --members 8
"""

import argparse
import resource

import common

from jaxeval import studies
from jaxeval.models import language


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of a text of words")
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--window", type=int, default=35)
    parser.add_argument("--members", type=int, default=8)
    args = parser.parse_args()
    before = _peak()
    sizes = [f"model.hidden={args.hidden}", f"training.batch_size={args.batch}"]
    changes = ["task=language", f"data.window={args.window}", "data.steps_per_epoch=2", *sizes]
    prepared = studies.prepare(studies.read(None, changes, args.data))
    population, _ = common.population(prepared, args.members)
    common.epoch_seconds(population)
    count, vocabulary = common.parameters(prepared), prepared.data.facts["vocabulary"]
    positions = args.window * args.batch
    common.report(
        benchmark="lm_memory",
        **vars(args),
        vocabulary=vocabulary,
        parameters=count,
        peak_gigabytes=_peak(),
        imported_gigabytes=before,
        population_gigabytes=round(4 * 4 * count * args.members / 2**30, 3),
        slice_gigabytes=round(4 * min(language._SLICE_ON_CPU, positions * vocabulary) / 2**30, 3),
        all_scores_gigabytes=round(4 * positions * vocabulary * args.members / 2**30, 3),
    )


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


if __name__ == "__main__":
    main()
