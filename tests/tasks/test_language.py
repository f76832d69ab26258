"""The language task: exact token accounting, carried state, streams, forgetting; the laws."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.contracts import Batch, Corpus, Member, Metric, Task
from jaxeval.data import language as data
from jaxeval.errors import ConfigError
from jaxeval.models import language as models
from jaxeval.population import Training, engine, member
from jaxeval.tasks import language as tasks
from tests import conformance

SIZED = models.LanguageModelSettings(hidden=8, embedding=8)


def _corpus(folder: Path, streams: int = 3, window: int = 4) -> data.Text:
    draw = np.random.default_rng(0)
    for part, lines in (("train", 60), ("valid", 9), ("test", 5)):
        text = "\n".join(
            " ".join("abcdefghij"[k] for k in draw.integers(0, 10, 7)) for _ in range(lines)
        )
        (folder / f"x.{part}.txt").write_text(text + "\n")
    settings = data.LanguageData(path=str(folder), window=window, steps_per_epoch=5)
    return data.build(settings, 4, streams)


def _language(text: data.Text, **change: Any) -> tasks.Language:
    language = tasks.Language(SIZED, len(text.symbols), 4, text.tokens["train"])
    return language._replace(**change)


def _initial(task: Task, text: data.Text) -> Any:
    batch = Batch({}, np.ones(4, np.float32), text.corpus.shared, ())
    return jax.device_get(jax.jit(task.init)(jax.random.key(0), batch, {}))


def _evaluate(task: Any, text: data.Text, streams: int, params: Any) -> dict[str, float]:
    training = Training(batch_size=4, evaluation_batch_size=streams)
    problem = member.Problem(task, text.corpus, text.split, training)
    lane = engine.lane_of(problem, Member(1), 0)
    steps = member.steps([len(lane.train[0])], 4)
    inputs = jax.tree.map(jnp.asarray, (member.Shared(text.corpus, steps), lane))
    counts = jax.jit(lambda p, s, w: member.evaluate(problem, s, p, w, w.dev))(params, *inputs)
    return {name: float(value) for name, value in counts.items()}


def test_sums_over_a_long_part_keep_their_digits() -> None:
    """Dies if counts are added up plainly: float32 loses every second token from 2^24 on."""
    loss = jnp.float32(35 * 7.1234)
    task = Task(
        lambda key, batch, hparams: {},
        lambda rows: (),
        lambda *arguments: (jnp.float32(0), ()),
        lambda *arguments: ((), ()),
        lambda outputs, batch: {"nats": loss * batch.weight[0], "tokens": 35 * batch.weight[0]},
        dict,
        Metric("perplexity", higher_is_better=False),
    )
    rows = jnp.zeros(1_200_000, jnp.int32)
    shared = member.Shared(Corpus(({"x": jnp.zeros(1)},), ()), member.steps([1], 1))
    training = Training(batch_size=1, evaluation_batch_size=1)
    problem = member.Problem(task, shared.corpus, data.Text.split, training)
    lane = member.Lane(jnp.uint32(1), {}, (), [rows[:1]])
    actual = jax.jit(lambda r: member.evaluate(problem, shared, {}, lane, [r]))(rows)
    assert float(actual["tokens"]) == 42_000_000
    assert float(actual["nats"]) == pytest.approx(1_200_000 * float(loss), rel=1e-7)


def test_a_model_that_has_diverged_has_no_perplexity() -> None:
    """Dies if a lost model gets a finite score, which would be ranked and averaged."""
    task = tasks.build(tasks.Language(SIZED, 12, 4, 60))
    for nats in (math.nan, math.inf, 1e5):
        actual = task.score({"nats": nats, "tokens": 10.0})
        assert actual["perplexity"] == actual["bits"] == math.inf


def test_a_text_has_no_random_splits() -> None:
    """Dies if windows are dealt to the parts at random."""
    with pytest.raises(ConfigError, match="leave --splits out"):
        tasks.KIND.random_splits(None)


@pytest.mark.parametrize("streams", [3, 7])
def test_perplexity_of_known_probabilities(tmp_path: Path, streams: int) -> None:
    """Dies if a token is skipped or counted twice: a unigram model's perplexity is known."""
    text = _corpus(tmp_path, streams)
    task = tasks.build(_language(text))
    params = jax.tree.map(np.zeros_like, _initial(task, text))
    p = np.random.default_rng(1).dirichlet(np.ones(len(text.symbols)))
    params = {**params, "softmax_bias": jnp.asarray(np.log(p), jnp.float32)}
    counts = _evaluate(task, text, streams, params)
    first = text.tokens["train"] + 1
    dev = text.corpus.shared["tokens"][first + 1 : first + 1 + text.tokens["dev"]]
    assert counts["tokens"] == text.tokens["dev"] == 72
    expected = -np.mean(np.log(p[dev]))
    assert task.score(counts)["bits"] == pytest.approx(expected / math.log(2), rel=1e-6)
    assert task.score(counts)["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)


def test_state_is_carried_through_an_evaluation(tmp_path: Path) -> None:
    """Dies if a window of an evaluation starts from zero: one stream against one long window."""
    text = _corpus(tmp_path, 1)
    task = tasks.build(_language(text))
    params = jax.tree.map(lambda leaf: leaf * np.float32(3), _initial(task, text))
    n, first = text.tokens["dev"], text.tokens["train"] + 1
    whole = tasks.build(_language(text, window=n))
    rows = {"start": jnp.array([first]), "length": jnp.array([n])}
    window = Batch(rows, jnp.ones(1), jax.tree.map(jnp.asarray, text.corpus.shared), ())
    outputs, _ = jax.jit(whole.predict)(params, whole.start(1), window, jax.random.key(0), {})
    expected = jax.jit(whole.count)(outputs, window)
    counts = _evaluate(task, text, 1, params)
    assert counts["nats"] == pytest.approx(float(expected["nats"]), rel=1e-5)


def test_streams_walk_on_and_wrap_around(tmp_path: Path) -> None:
    """Dies if a stream jumps, stays, or leaves the train part."""
    text = _corpus(tmp_path)
    choices = dataclasses.replace(SIZED, state_reset_probability=0.0)
    language = _language(text, choices=choices)
    task = tasks.build(language)
    n = language.train_tokens
    shared = jax.tree.map(jnp.asarray, text.corpus.shared)
    batch = Batch({}, jnp.ones(4), shared, ())
    params = jax.device_put(_initial(task, text))
    step = jax.jit(lambda c, k: task.loss(params, c, batch, k, {})[1])
    carry = step(task.start(4), jax.random.key(3))
    starts = (np.asarray(carry.position) - language.window) % n
    assert np.ptp(np.diff(np.sort(starts))) <= n % 4  # equally far apart
    positions = [np.asarray(carry.position)]
    for k in range(2 * n // language.window):
        carry = step(carry, jax.random.key(k))
        positions.append(np.asarray(carry.position))
    moved = np.diff(np.stack(positions), axis=0) % n
    assert np.all(moved == language.window)
    assert np.stack(positions).min() >= 0 and np.stack(positions).max() < n


def test_examples_forget_at_the_given_rate() -> None:
    """Dies if single units are zeroed, or layers forget at different times."""
    state = ((jnp.ones((4000, 3)), jnp.ones((4000, 3))), (jnp.ones((4000, 3)),) * 2)
    actual = jax.tree.leaves(jax.jit(tasks._reset)(state, jax.random.key(0), 0.25))
    rows = [np.asarray(leaf)[:, 0] for leaf in actual]
    assert all(np.array_equal(rows[0], row) for row in rows)
    assert np.array_equal(np.asarray(actual[0]).min(1), np.asarray(actual[0]).max(1))
    assert 1 - rows[0].mean() == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 4000))


def test_the_laws_of_a_task(tmp_path: Path) -> None:
    """Dies if the language task breaks a law that the trainer relies on; of a recurrent highway
    network, whose state is one array: tests/golden."""
    for part, line in (
        ("train", "a b c d e f g h"),
        ("valid", "a c e g b d f h"),
        ("test", "h b"),
    ):
        (tmp_path / f"x.{part}.txt").write_text(f"{line}\n" * 12)
    text = data.build(data.LanguageData(path=str(tmp_path), window=6, steps_per_epoch=5), 6, 6)
    choices = models.LanguageModelSettings(hidden=16, embedding=12)
    task = tasks.build(tasks.Language(choices, len(text.symbols), 6, text.tokens["train"]))
    rows = {
        n: np.asarray(c[text.given_split["dev"][0][:6]]) for n, c in text.corpus.buckets[0].items()
    }
    tokens = jnp.asarray(text.corpus.shared["tokens"])

    def perfect(batch: Batch) -> tasks.Outputs:
        positions = batch.rows["start"][None] + 1 + np.arange(6)[:, None]
        identity = np.eye(len(text.symbols), dtype=np.float32)
        sure = 200 * identity[np.asarray(tokens)[positions]]
        return tasks.Outputs(sure, identity, np.zeros(len(text.symbols), np.float32))

    conformance.check(
        conformance.Case(
            task,
            Batch(rows, jnp.ones(6), {"tokens": tokens}, ()),
            {
                f"dropout_{site}": jnp.float32(0.1)
                for site in ("input", "state", "output", "projected")
            },
            [],  # the windows name positions; what is gold stands in the text itself
            len(text.symbols),
            lambda b: 6.0,
            perfect,
        )
    )
