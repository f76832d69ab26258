"""The commands that golden_commands.py runs: those of golden_commands.txt, and of tests/golden.

A command is a name and some lines, as a user types them behind `jaxeval`, run in an empty folder
in which `in` holds what golden_inputs.py makes, `data` the real data, `cut` the first rows of some
of its tables, `made` the files of MADE; $NAME stands for one of
NAMES, PYTHON for the interpreter. All that the lines write into `out` is compared: files by their
names, figures by theirs. `> FILE` takes what a line prints. A command is known by its name: its
lines may be edited as flags and verbs are renamed, as long as files in `out` keep their names.
"""

from pathlib import Path
from string import Template

_EVERY = {
    "sig-2017-inflection": "albanian arabic catalan dutch haida hungarian irish romanian",
    "sig-2021-g2p": "arm_e dut geo hun",
}
_PLAIN = (
    "task=sentiment model.architecture=bag scoring.metric=macro_f1 data.source.sentences=60 "
    "data.dimension=6 data.max_widths=1 training.batch_size=16 training.epochs=5"
)
_TRAIN = "PYTHON in/train.py rate={rate} cell={cell} peephole={peephole} seed={seed}"
MADE = {  # files in `made`
    "released.toml": """\
[scheduler]
choices = ["None", "reduceonplateau", "warmupinvsqrt"]
ordered = true
[factor]
uniform = [0.1, 0.9]
when = { scheduler = ["reduceonplateau"] }
""",
    "factor.toml": """\
[scheduler]
choices = ["none", "plateau", "warm"]
[factor]
uniform = [0, 1]
when = { scheduler = ["plateau"] }
""",
}
CUT = ("scores/wiemerslage2024", 200)  # real tables of which `cut` has the first rows
NAMES = {
    "TABLES": "--save out/t.tex --save out/t.md",
    "FIESTA": "--table data/scores/fiesta2019/test_f1.json",
    "FIESTA_FILE": "data/scores/fiesta2019/test_f1.json",
    "REIMERS": "--table data/scores/reimers2017/hyperparameter_results.csv.gz",
    "SWEEPS": "cut/wiemerslage2024",
    "EVERY": " ".join(
        f"cut/wiemerslage2024/{language}-{architecture}-{task}.tsv"
        for task, languages in _EVERY.items()
        for language in languages.split()
        for architecture in ("attentive_lstm", "transformer")
    ),
    "PUBLISHED": "--score max_val_accuracy --missing zero",
    "LSTM": "--hyperparameters batch_size,learning_rate,dropout,scheduler,factor",
    "ORDER": "--space made/released.toml",
    "ASK": '"PYTHON in/ask.py {model} {split}" --json-field test.f1',
    "TUNE": f'tune command "{_TRAIN}" --space in/space.toml --retrain 3',
    "HALVED": f'tune command "{_TRAIN} steps=9" --space in/space.toml --halving 3 --steps 9 '
    "--trials 10",
    "GLOVE": "data/glove/glove.6B.100d.head.txt",
    "RATE": "training.optimiser.hyperparameters.learning_rate",
    "PLAIN": _PLAIN,
    "BAG": f"{_PLAIN} training.optimiser.hyperparameters.learning_rate=0.1",
    "SMALL": "data.source.sentences=150 data.dimension=6 data.max_widths=1 model.hidden=5 "
    "training.epochs=3 training.lanes=2",
}


def _read(text: str) -> dict[str, list[str]]:
    """Commands: a name, below it lines, of which those that are indented further go on."""
    commands: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            of = commands.setdefault(line, [])
        elif line.startswith(" " * 8):
            of[-1] += f" {line.strip()}"
        else:
            of.append(line.strip())
    return {
        name: [Template(line).substitute(NAMES) for line in lines]
        for name, lines in commands.items()
    }


# of the commands of tests/golden, what can be asked of the runs that they leave
_MORE = """\
tagging, softmax, map
    report runs --json out/list.json
    report runs --json out/report.json --save out/report.html --save out/f --details
tagging, splits
    compare runs --json out/refused.json
    noise table runs --json out/of_runs.json
language, evaluate
    predict runs --input in/golden/text/test.txt --output out/lines.tsv --which all
    predict runs --input in/golden/text/test.txt --output out/whole.tsv --whole --which vote
language, ablation
    report runs --json out/report.json --save out/f
    compare runs --json out/compared.json --details
seq2seq, attentive lstm, ragged sweep
    sensitivity runs --json out/sensitivity.json --save out/f --resamples 20 --details
    report runs --json out/report.json --save out/report.html
"""


def _trained() -> dict[str, list[str]]:
    """The commands of tests/golden, which share its corpora and shapes."""
    from tests.golden import commands

    more, of = _read(_MORE), {}
    figures = {verb: f"--save out/{verb}" for verb in ("ablation", "neighbourhood")}
    for name, calls in commands.COMMANDS.items():
        lines = [
            f"{call.verb} {call.words.format(data='in/golden')} --out runs "
            f"--json out/{call.verb}.json {figures.get(call.verb, '')}"
            for call in calls
        ]
        lines.append("runs export runs --to out/members.csv")
        lines.append("runs export runs --curves --to out/curves.csv")
        of[f"trained: {name}"] = [*lines, *more.get(name, [])]
    return of


_TEXT = Path(__file__).with_name("golden_commands.txt").read_text()
COMMANDS = {**_read(_TEXT), **_trained()}
