"""`jaxeval ablation`: a config and its variants, each compared with it."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jaxeval import launchers, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Changes, Quiet, Seeds

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.comparison import Comparison
    from jaxeval.studies.cohorts import Entry

_RECORDED = ("seed", "dev", "status", "metric", "higher_is_better")


@parameters.verb
def ablation(
    config: "Source" = None,
    changes: Changes = (),
    *,
    variants: str | Path,
    seeds: Seeds = 8,
    data: str | Path | None = None,
    out: str | Path = "runs",
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "Comparison":
    """Trains a config and variants with the same seeds, and compares each variant with the config.

    Variants are not tuned again, as in Table 4 of Melis et al. (2018). The same command resumes an
    interrupted run.

    Args:
      variants: TOML file with a table [[variant]] for each variant, such as name = "untied",
        changes = ["model.tied=false"].

    Examples:
      jaxeval ablation melis2018/enwik8_lstm_small \\
          --variants melis2018/ablations/small --data FILE --seeds 8
    """
    named, numbers = _read_variants(str(variants)), parameters.numbers(seeds)
    if len(numbers) < 2:
        raise ConfigError(f"{argument('seeds', seeds)}: expected 2 or more")
    launcher = launchers.prepare(launch)
    from jaxeval import files, observe, studies
    from jaxeval.compare import compare
    from jaxeval.studies import prepared

    trials: list[prepared.Trial] = []
    for name, changed in {"": (), **named}.items():
        # the config alone is checked first: what is then wrong is a variant's
        origin = f"{variants}: variant {name!r}" if name else ""
        whole: Any = studies.read(config, [*changes, *changed], data, origin)
        title = f"{whole.name} ({name})" if name else whole.name
        whole = dataclasses.replace(whole, name=title)
        trials += prepared.seeds_by_splits(whole, numbers, model=title)
    title_of, apart = dict[str, str](), list[str]()  # by experiment; with other data

    def check(entries: "Sequence[Entry]") -> None:
        first = entries[0].record
        for title, record in {of.trial.labels["model"]: of.record for of in entries}.items():
            if (same := title_of.setdefault(record.id, title)) != title:
                raise ConfigError(f"{variants}: {title!r} is the same as {same!r}")
            if record.data_hash != first.data_hash:
                apart.append(f"{title}: other data than {first.name}, perhaps other test items")

    rows = observe.train(trials, Path(out), check=check, launcher=launcher, quiet=quiet)
    records = []
    for row in rows:
        recorded = {key: getattr(row, key) for key in _RECORDED}
        records.append({"model": title_of[row.experiment], "score": row.test, **recorded})
    table = Path(out) / "ablations" / f"{rows[0].experiment}.json"
    files.write_json(str(table), records)
    found = compare(table, *title_of.values(), control=trials[0].labels["model"])
    study = dataclasses.replace(found.study, warnings=(*apart, *found.study.warnings))
    return dataclasses.replace(found, study=study)


def _read_variants(file: str) -> Mapping[str, Sequence[str]]:
    """The changes of each variant of a file by its name."""
    import pydantic

    from jaxeval.config import reading

    some = pydantic.Field(min_length=1)

    @reading.settings
    class _Variant:
        name: Annotated[str, some]
        changes: Annotated[tuple[str, ...], some]

    @reading.settings
    class _Variants:
        variant: Annotated[tuple[_Variant, ...], some]

    variants = reading.read(_Variants, file).variant
    names = [variant.name for variant in variants]
    for name in names:
        if name.splitlines() != [name] or names.count(name) > 1:
            raise ConfigError(f"{file}: expected different names of one line, got {name!r}")
    return {variant.name: variant.changes for variant in variants}
