"""Draws what tuner_real.py found: regret against settings, and the retrained best settings.

Regret is the distance of the best dev score so far from the best of all searches of the task, of
every repetition (thin) and their mean; a dot at the right is the mean of the best setting's fresh
seeds, whose distance can be below 0 or above its search's, as scores are of single seeds before.

    python benchmarks/tuner_real_figure.py tuner_real.jsonl regret.png --training short
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.report import plots

Line = dict[str, Any]
UNITS = {"enwik8": (1, "bits per byte"), "georgian": (-100, "points of accuracy")}
FIRST = 9  # settings that are not drawn: they would flatten the rest


def main() -> None:
    """Reads and draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("figure")
    parser.add_argument("--training", choices=("whole", "short"), default="whole")
    args = parser.parse_args()
    lines = [json.loads(line) for line in Path(args.file).read_text().splitlines()]
    lines = [line for line in lines if line["training"] == args.training]
    if not lines:
        parser.error(f"{args.file} has no search of {args.training} trainings")
    tasks = sorted({line["task"] for line in lines})
    drawing, panels = plots.grid(len(tasks), 2, (4.2, 3.2))
    for panel, task in zip(panels, tasks, strict=True):
        draw(panel, task, [line for line in lines if line["task"] == task])
    drawing.savefig(args.figure, dpi=110)


def draw(panel: Any, task: str, lines: list[Line]) -> None:
    """One task; of each method the searches of most settings."""
    factor, unit = UNITS[task]
    best = min(factor * value for line in lines for value in line["best_so_far"] if value)
    for number, method in enumerate(sorted({line["method"] for line in lines})):
        trials = max(line["trials"] for line in lines if line["method"] == method)
        chosen = [x for x in lines if (x["method"], x["trials"]) == (method, trials)]
        curves = np.array([line["best_so_far"] for line in chosen], float) * factor - best
        after, colour = np.arange(FIRST, trials) + 1, plots.COLOURS[number]
        for curve in curves:
            panel.step(after, curve[FIRST:], color=colour, linewidth=0.5, alpha=0.6, where="post")
        label = f"{method}, {len(chosen)} searches"
        panel.step(
            after, np.nanmean(curves, axis=0)[FIRST:], color=colour, label=label, where="post"
        )
        fresh = [factor * line["retrained_mean"] - best for line in chosen]
        panel.plot([trials + 1 + number / 2] * len(fresh), fresh, "o", color=colour, markersize=3)
    plots.ruled(panel)
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set(title=task, xlabel="settings", ylabel=f"regret, {unit}")
    panel.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
