"""What the benchmarks share: the measured model on real sentences, the machine, JSON output."""

import argparse
import dataclasses
import json
import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

from jaxeval import backend

backend.prepare()

import jax
import numpy as np
import processes

from jaxeval import studies
from jaxeval.contracts import Member
from jaxeval.population import host
from jaxeval.studies import cohorts
from jaxeval.studies import prepared as preparing

# 2 x 100 BiLSTM, character CNN, CRF, global norm 1, Nadam, frozen 100-dimensional vectors
MODEL = (
    "model.layers=[100,100]",
    "model.words.trained=false",
    "model.dropout.kind=none",
    "data.dimension=100",
)


def parser(description: str | None) -> argparse.ArgumentParser:
    """Arguments that all benchmarks take."""
    parser = argparse.ArgumentParser(description=description)
    home = os.environ.get("JAXEVAL_DATA")
    data = str(Path(home) / "ud_english_ewt") if home else None
    parser.add_argument("--data", default=data, required=data is None, help="folder of a corpus")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--sentences", type=int, help="train sentences (all)")
    return parser


def prepare(data: str, batch: int, sentences: int | None, *others: str) -> studies.Prepared:
    """The measured studies, with other changes of the config."""
    changes = [*MODEL, f"data.source.path={data}", f"training.batch_size={batch}", *others]
    if sentences:
        changes.append(f"data.train_sentences={sentences}")
    return studies.prepare(studies.read(None, changes))


def members_of(prepared: studies.Prepared, count: int) -> list[Member]:
    """Members with seeds 1 .. count."""
    member = preparing.member_of(prepared)
    return [dataclasses.replace(member, seed=seed) for seed in range(1, count + 1)]


def parameters(prepared: studies.Prepared) -> int:
    """Number of trained parameters of a member."""
    return cohorts.parameters(prepared.problem, preparing.member_of(prepared))


def population(prepared: studies.Prepared, members: int) -> tuple[host.Population, float]:
    """A population with all lanes taken, and the seconds its programs took to compile."""
    population = host.Population(prepared.problem, members_of(prepared, members), members)
    seconds = compile_seconds(population)
    population.arrange()
    return population, seconds


def compile_seconds(population: host.Population) -> float:
    """Compiles a population's programs; returns the seconds."""
    begin = processes.clock()
    for _ in population.compile():
        pass
    return processes.clock() - begin


def epoch_seconds(population: host.Population) -> float:
    """Seconds of one epoch of training (no evaluation) of all lanes."""
    flags = population.flags([slot.active for slot in population.slots])
    begin = processes.clock()
    population.state, loss = population.engine.epoch(
        population.engine.shared, population.state, population.lanes, flags
    )
    jax.block_until_ready(loss)
    return processes.clock() - begin


def quartiles(values: list[float]) -> dict[str, float]:
    """Median with its spread."""
    low, q1, median, q3, high = (
        round(float(v), 4) for v in np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    )
    return {"min": low, "q1": q1, "median": median, "q3": q3, "max": high, "n": len(values)}


def report(**content: Any) -> None:
    """Prints one JSON line with the machine, what else it did, the versions and the commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = {
        "device": backend.describe(),
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "clock": processes.CLOCK,
        **_others(),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "commit": commit,
    }
    print(json.dumps({**content, **machine}))


def _processor() -> str:
    """The processor's model; its architecture where the system does not say."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _used() -> tuple[float, float, float, float] | None:
    """Core seconds so far: all, idle, stolen by other machines, ours and our ended children's."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    # user nice system idle iowait irq softirq steal
    fields = [int(word) for word in stat.read_text().split(maxsplit=9)[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ours = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return sum(fields) / tick, (fields[3] + fields[4]) / tick, fields[7] / tick, ours


_BEGIN = _used()


def _others() -> dict[str, float | None]:
    """Shares of the cores' time that other processes and other machines had since the start."""
    end = _used()
    if _BEGIN is None or end is None:
        return {"other_processes": None, "stolen": None}
    cores, idle, stolen, ours = (now - then for now, then in zip(end, _BEGIN, strict=True))
    return {
        "other_processes": round(max(0.0, cores - idle - stolen - ours) / cores, 3),
        "stolen": round(stolen / cores, 3),
    }
