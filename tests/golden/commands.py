"""The commands whose scores are recorded: calls of verbs, as a user would type them.

`{data}` stands for the folder of tests/golden/corpora.py. All write into one runs folder of the
command's own. Commands share compiled programs (shapes, lanes) wherever they can: a program
takes ten seconds to compile, its training tenths of one.
"""

from typing import NamedTuple


class Call(NamedTuple):
    """One call of a verb."""

    verb: str
    words: str


_TAGS = (
    "--data {data}/tags data.vocabulary=all data.max_widths=1 data.dimension=6 model.layers=[5] "
    "model.characters.encoder=none model.characters.dimension=3 model.characters.filters=4 "
    "training.batch_size=16 training.evaluation_batch_size=16 training.epochs=12 training.lanes=2 "
    "training.optimiser.hyperparameters.learning_rate=0.02"
)
_SOFTMAX = f"{_TAGS} model.classifier=softmax"
_CRF = f"{_TAGS} model.classifier=crf"
_TEXT = (
    "task=language --data {data}/text data.dev=*dev* data.window=6 data.steps_per_epoch=8 "
    "model.hidden=7 model.dropout.input=0.1 model.dropout.state=0.2 training.batch_size=3 "
    "training.evaluation_batch_size=2 training.epochs=3 training.lanes=2"
)
_PAIRS = (
    "task=seq2seq --data {data}/pairs data.max_widths=1 model.embedding=4 model.hidden=6 "
    "training.batch_size=16 training.evaluation_batch_size=16 training.epochs=25 "
    "training.optimiser.hyperparameters.learning_rate=0.02"
)
_TRANSFORMER = (
    f"{_PAIRS} model.architecture=transformer model.encoder_layers=1 model.decoder_layers=1 "
    "model.heads=2"
)

SPACE = """
[batch_size]
key = "training.batch_size"
integer = [8, 24]
step = 8
[learning_rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-3, 3e-2]
[scheduler]
choices = ["none", "plateau", "warmup"]
[warmup]
key = "training.optimiser.warmup"
integer = [8, 64]
when = { scheduler = ["warmup"] }
[plateau_factor]
key = "training.plateau.factor"
uniform = [0.1, 0.9]
when = { scheduler = ["plateau"] }
[dropout]
key = "model.dropout"
uniform = [0.0, 0.4]
[embedding]
key = "model.embedding"
integer = [4, 8]
step = 2
[hidden]
key = "model.hidden"
choices = [4, 8]
"""
VARIANTS = """
[[variant]]
name = "no state dropout"
changes = ["model.dropout.state=0.0"]
[[variant]]
name = "more dropout"
changes = ["model.dropout.input=0.4"]
"""
COMMANDS: dict[str, list[Call]] = {
    "tagging, softmax, map": [Call("train", f"{_SOFTMAX} --seeds 3")],
    "tagging, splits": [Call("train", f"{_SOFTMAX} --seeds 3,7 --splits 2")],
    "tagging, noise": [Call("noise", f"{_SOFTMAX} --seeds 2 --repeats 2")],
    "tagging, crf, characters, vmap": [
        Call(
            "train",
            f"{_CRF} --seeds 4 training.lane_mode=vmap model.characters.encoder=cnn "
            "training.micro_batch=8",
        )
    ],
    "language, evaluate": [
        Call("train", f"{_TEXT} --seeds 2 training.save_models=true"),
        Call(
            "evaluate",
            f"{_TEXT} --seeds 2 --streams 2,1 --temperature 0.8 --mean arithmetic --samples 2 "
            "--dynamic 0.01",
        ),
    ],
    "language, ablation": [
        Call("ablation", f"{_TEXT} --seeds 2 --variants {{data}}/variants.toml")
    ],
    "language, neighbourhood": [Call("neighbourhood", f"{_TEXT} --settings 5")],
    "language, rhn, vmap": [
        Call(
            "train",
            f"{_TEXT} --seeds 4 training.lane_mode=vmap model.kind=rhn model.gates=tied "
            "model.depth=2",
        )
    ],
    "language, nas": [
        Call(
            "train",
            f"{_TEXT} --seeds 2 model.kind=nas training.plateau.patience=1 "
            "training.plateau.factor=0.5",
        )
    ],
    "seq2seq, transformer, vmap": [
        Call(
            "train",
            f"{_TRANSFORMER} --seeds 4 training.lane_mode=vmap training.optimiser.warmup=64",
        )
    ],
    "seq2seq, attentive lstm, ragged sweep": [
        Call("sweep", f"{_PAIRS} model.beam=2 --space {{data}}/space.toml --trials 4 --programs 1")
    ],
}
