"""Error rates and seeds spent of rules that decide between two models, looked at after every seed.

python benchmarks/settle_errors.py [--repetitions 10000] > benchmarks/results/settle_errors.md
"""

import argparse

import numpy as np
from scipy import stats

from jaxeval.stats import sequential

ALPHA = 0.05
MOST = 100
"""Seeds of each model at the last look."""
EFFECTS = (0.5, 1.0, 1.5, 2.0, 3.0)


def scores(kind: str, draw: np.random.Generator, size: tuple[int, int]):
    """Two models of equal means."""
    skewed = lambda: draw.exponential(size=size) - 1  # noqa: E731
    pairs = {
        "normal": lambda: (draw.normal(size=size), draw.normal(size=size)),
        "sd 3:1": lambda: (draw.normal(size=size), 3 * draw.normal(size=size)),
        "t, 3 df": lambda: (draw.standard_t(3, size=size), draw.standard_t(3, size=size)),
        "lognormal": lambda: (draw.lognormal(size=size), draw.lognormal(size=size)),
        "exponential": lambda: (skewed(), skewed()),
        "discrete (1.5 steps a sd)": lambda: (
            np.round(1.5 * draw.normal(size=size)),
            np.round(1.5 * draw.normal(size=size)),
        ),
        "right or wrong, .3": lambda: (
            (draw.random(size) < 0.3).astype(float),
            (draw.random(size) < 0.3).astype(float),
        ),
        "exponential, sd 3:1": lambda: (skewed(), 3 * skewed()),
        "exponential, skewed apart": lambda: (skewed(), -skewed()),
    }
    return pairs[kind]()


KINDS = (
    "normal", "sd 3:1", "t, 3 df", "lognormal", "exponential", "discrete (1.5 steps a sd)",
    "right or wrong, .3", "exponential, sd 3:1", "exponential, skewed apart",
)  # fmt: skip


def decided(log_e: np.ndarray, level: float) -> np.ndarray:
    """[repetitions] first look, from 0, with e >= 1 / level; the number of looks if none."""
    hit = log_e >= np.log(1 / level)
    return np.where(hit.any(-1), hit.argmax(-1), log_e.shape[-1])


def e_values(a, b, g, paired):
    seen = sequential.looks(a - b) if paired else sequential.looks(a, b)
    return seen, [
        sequential.e_process(seen, g=g, alternative=side) for side in ("greater", "less")
    ]


def type_one(repetitions: int) -> None:
    print(f"## Two equal models differ, at any look from 3 to {MOST} seeds each\n")
    columns = [(paired, g) for paired in (False, True) for g in (0.5, 1.0, 2.0, 4.0)]
    heads = [f"{'pairs' if paired else 'two samples'}, g = {g:g}" for paired, g in columns]
    print("| scores |", " | ".join(heads), "| Welch p < .05 at any look | cover |")
    print("|---" * (len(columns) + 3) + "|")
    for kind in KINDS:
        draw = np.random.default_rng(1)
        a, b = scores(kind, draw, (repetitions, MOST))
        cells = []
        for paired, g in columns:
            _, sides = e_values(a, b, g, paired)
            wrong = [decided(side, ALPHA / 2) < side.shape[-1] for side in sides]
            cells.append(f"{np.mean(wrong[0] | wrong[1]):.3f}".lstrip("0"))
        seen = sequential.looks(a, b)
        t = np.nan_to_num(seen.estimate / seen.error)
        naive = (2 * stats.t.sf(np.abs(t), seen.df) < ALPHA).any(-1).mean()
        low, high = sequential.confidence_sequence(seen, alpha=ALPHA)
        stop = draw.integers(low.shape[-1], size=repetitions)
        rows = np.arange(repetitions)
        cover = ((low[rows, stop] <= 0) & (high[rows, stop] >= 0)).mean()
        print(f"| {kind} |", " | ".join(cells), f"| {naive:.2f} | {cover:.3f} |")
    print(
        f"\n{repetitions} repetitions, alpha {ALPHA}; standard error of .05: "
        f"{np.sqrt(0.05 * 0.95 / repetitions):.4f}. Cover: share of confidence\n"
        "sequences (two samples, default g) that hold 0 at a random look.\n"
    )


def spent(repetitions: int) -> None:
    print(f"## Seeds of each model until the better one is known (at most {MOST})\n")
    print("| rule |", " | ".join(f"{d:g} sd" for d in EFFECTS), "|")
    print("|---" * (len(EFFECTS) + 1) + "|")
    for paired in (False, True):
        for g in (0.5, 1.0, 2.0, 4.0):
            cells = []
            for effect in EFFECTS:
                draw = np.random.default_rng(2)
                a, b = scores("normal", draw, (repetitions, MOST))
                seen, (better, _) = e_values(a + effect, b, g, paired)
                look = decided(better, ALPHA / 2)
                count = np.append(seen.scores, MOST)[look]
                cells.append(f"{count.mean():.1f} ({(look < len(seen.scores)).mean():.2f})")
            name = "pairs" if paired else "two samples"
            print(f"| e-process, {name}, g = {g:g} |", " | ".join(cells), "|")
    fixed = [_fixed(effect) for effect in EFFECTS]
    print("| fixed n of power .8, Welch |", " | ".join(f"{n}" for n in fixed), "|")
    print(f"\nMean seeds (share decided), {repetitions} repetitions.\n")


def _fixed(effect: float) -> int:
    """Fewest scores of each model with which Welch's t shows an effect with probability .8."""
    for n in range(2, 1000):
        df, shift = 2 * n - 2, effect * np.sqrt(n / 2)
        if stats.nct.sf(stats.t.isf(ALPHA / 2, df), df, shift) >= 0.8:
            return n
    raise AssertionError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    repetitions = parser.parse_args().repetitions
    type_one(repetitions)
    spent(repetitions)
