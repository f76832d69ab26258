"""A small batch of sentences with targets, and classifiers computed word by word with numpy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Batch
from jaxeval.models import sentiment
from jaxeval.models.sentiment import SentimentModel

FORMS, TABLE, VOCABULARY, SIZE = 12, 11, 9, 4
SIZES = sentiment.Sizes(labels=3, words=VOCABULARY, longest_target=3)
_COMPILED: dict[str, Any] = {}


def batch(seed: int = 0, train: bool = False) -> Batch:
    """Four sentences of at most two targets: at both ends, of one to three words, overlapping.

    Padding holds words, and a target that is none, so that what reads them is told.

    Args:
      train: all words are the vocabulary's.
    """
    draw = np.random.default_rng(seed)
    rows = {
        "forms": draw.integers(1, FORMS, (4, 9)),
        "length": np.array([7, 4, 5, 6]),
        "start": np.array([[4, 0], [0, 2], [4, 2], [1, 2]]),
        "end": np.array([[7, 1], [1, 3], [5, 3], [3, 3]]),
        "targets": np.array([2, 1, 2, 2]),
        "labels": draw.integers(0, 3, (4, 2)),
    }
    vectors = draw.normal(size=(TABLE, SIZE)).astype(np.float32)
    shared = {
        "row": np.array([0, *draw.integers(1, VOCABULARY if train else TABLE, FORMS - 1)]),
        "vectors": vectors,
        "pretrained": np.arange(TABLE) % 2 == 0,
    }
    known = np.arange(TABLE) != 4
    return jax.tree.map(jnp.asarray, Batch(rows, np.ones(4, np.float32), shared, {"known": known}))


def params(choices: SentimentModel, batch: Batch, seed: int = 0) -> Any:
    """Parameters of the right shapes, all of them drawn: no bias is zero."""
    init = sentiment.Classifier(choices, SIZES).init
    shapes = jax.eval_shape(init, jax.random.key(0), batch, {"initial_scale": 0.1}, None)
    draw = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(0.5 * draw.normal(size=leaf.shape), jnp.float32), shapes["params"]
    )


def logits(choices: SentimentModel, tree: Any, batch: Batch) -> np.ndarray:
    """[B, K, Y] of the model, at evaluation."""
    return np.asarray(_compiled(choices)({"params": tree}, batch))


def _compiled(choices: SentimentModel) -> Any:
    key = repr(choices)
    if key not in _COMPILED:
        model = sentiment.Classifier(choices, SIZES)
        _COMPILED[key] = jax.jit(lambda tree, batch: model.apply(tree, batch, {}, None))
    return _COMPILED[key]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum()


def _affine(layer: Any, x: np.ndarray) -> np.ndarray:
    return x @ layer["kernel"] + layer.get("bias", 0)


def states(weights: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """h of every step of an LSTM (gates in the order input, output, candidate, forget)."""
    hidden = memory = np.zeros(len(weights["recurrent"]))
    outputs = []
    for x in inputs:
        gates = x @ weights["kernel"] + hidden @ weights["recurrent"] + weights["biases"].sum(0)
        i, o, g, f = np.split(gates, 4)
        memory = _sigmoid(f) * memory + _sigmoid(i) * np.tanh(g)
        hidden = _sigmoid(o) * np.tanh(memory)
        outputs.append(hidden)
    return outputs


class Reference:
    """Logits of a target by the equations, a word at a time."""

    def __init__(self, choices: SentimentModel, tree: Any, batch: Batch):
        self.choices = choices
        self.tree = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree)
        self.encoder = self.tree.get("encoder", {})
        self.batch = jax.tree.map(np.asarray, batch)

    def logits(self, sentence: int) -> np.ndarray:
        """[targets, Y] of a sentence."""
        if self.choices.architecture == "majority":
            return np.tile(self.tree["bias"], (self.batch.rows["targets"][sentence], 1))
        numbers = range(self.batch.rows["targets"][sentence])
        features = [self.features(sentence, number) for number in numbers]
        if self.choices.target.inter_aspect:
            order = np.argsort(self.batch.rows["start"][sentence][: len(features)])
            after = states(self.tree["inter_aspect"], [features[k] for k in order])
            features = [after[list(order).index(k)] for k in numbers]
        values = np.stack([_affine(self.tree["logits"], f) for f in features])
        return np.tanh(values) if self.choices.tanh_logits else values

    def features(self, sentence: int, number: int) -> np.ndarray:
        """What the classifier reads."""
        rows = self.batch.rows
        forms = rows["forms"][sentence, : rows["length"][sentence]]
        start, end = (int(rows[name][sentence, number]) for name in ("start", "end"))
        words = self.vectors("words", forms)
        has_table = "target_words" in self.tree.get("embedding", {})
        target = self.vectors("target_words" if has_table else "words", forms[start:end])
        method = getattr(self, f"_{self.choices.architecture}")
        return np.asarray(method(words, target, start, end))

    def vectors(self, table: str, forms: np.ndarray) -> list[np.ndarray]:
        """Trained vectors of the vocabulary, others as read, one for all that is not known."""
        read = self.batch.shared["vectors"]
        trained = self.tree.get("embedding", {}).get(table, read[:0])
        every = [*trained, *read[len(trained) :]]
        rows = self.batch.shared["row"][forms]
        return [every[row if self.batch.split["known"][row] else 1] for row in rows]

    def _lstm(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        return states(self.encoder["lstm"], words)[-1]

    def _bag(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        x = np.mean(words, axis=0)
        for number in range(len(self.choices.bag)):
            x = np.maximum(_affine(self.encoder[f"layer{number}"], x), 0)
        return x

    def _cnn(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        pooled = []
        for width in self.choices.cnn.widths:
            padded = [*words, *[np.zeros(SIZE)] * max(width - len(words), 0)]
            windows = [
                np.concatenate(padded[i : i + width]) for i in range(len(padded) - width + 1)
            ]
            layer = self.encoder[f"filters{width}"]
            pooled.append(np.maximum([_affine(layer, w) for w in windows], 0).max(axis=0))
        return np.concatenate(pooled)

    def _tdlstm(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        include = self.choices.target.include
        left, right = words[: end if include else start], words[start if include else end :]
        sides = [side or [self.tree["embedding"]["empty"]] for side in (left, right[::-1])]
        if self.choices.architecture == "tclstm":
            mean = np.mean(target, axis=0)
            sides = [[np.concatenate([word, mean]) for word in side] for side in sides]
        pairs = zip(("left", "right"), sides, strict=True)
        return np.concatenate([states(self.encoder[name], side)[-1] for name, side in pairs])

    _tclstm = _tdlstm

    def _distance(self, words: list, start: int, end: int) -> list[int]:
        return [min(abs(i - j) for j in range(start, end)) for i in range(len(words))]

    def _text(self, words: list, beside: np.ndarray, start: int, end: int) -> list[np.ndarray]:
        inputs = [np.concatenate([word, beside]) for word in words]
        distance, text = self._distance(words, start, end), self.encoder["text"]
        if self.choices.target.position == "embedding":
            table = text["position"]
            inputs = [
                np.concatenate([x, table[min(d, len(table) - 1)]])
                for x, d in zip(inputs, distance, strict=True)
            ]
        hidden = states(text["lstm"], inputs)
        if self.choices.target.position == "weighting":
            pairs = zip(hidden, distance, strict=True)
            hidden = [h * (1 - d / len(words)) for h, d in pairs]
        return hidden

    def _atae(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        vector = np.mean(target, axis=0)
        if self.choices.target.encoder == "lstm":
            vector = states(self.encoder["target"]["lstm"], target)[-1]
        hidden = self._text(words, vector, start, end)
        beside = vector if self.choices.attention.target else np.zeros(0)
        keys = [
            np.tanh(_affine(self.encoder["attention"], np.concatenate([h, beside])))
            for h in hidden
        ]
        weights = _softmax(np.array([self.encoder["attention_vector"] @ key for key in keys]))
        read = sum(a * h for a, h in zip(weights, hidden, strict=True))
        if self.choices.attention.projection == "none":
            return read
        features = _affine(self.encoder["projection"], read)
        features = features + _affine(self.encoder["last_projection"], hidden[-1])
        return np.tanh(features) if self.choices.attention.projection == "tanh" else features

    def _ian(self, words: list, target: list, start: int, end: int) -> np.ndarray:
        text = self._text(words, np.zeros(0), start, end)
        of_target = states(self.encoder["target"]["lstm"], target)
        sides = [
            self._read("text_attention", text, np.mean(of_target, axis=0)),
            self._read("target_attention", of_target, np.mean(text, axis=0)),
        ]
        return np.concatenate(sides)

    def _read(self, name: str, hidden: list[np.ndarray], query: np.ndarray) -> np.ndarray:
        layer = self.encoder[name]
        scores = [np.tanh(query @ layer["kernel"] @ h + layer["bias"]) for h in hidden]
        return sum(a * h for a, h in zip(_softmax(np.array(scores)), hidden, strict=True))
