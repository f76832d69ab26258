"""What the name of a metric says: its unit, and which scores are better."""

import json
from pathlib import Path

import pytest

import jaxeval
from jaxeval import noise, plan, testing
from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics
from jaxeval.select import __main__ as select
from jaxeval.sensitivity import __main__ as sensitivity
from tests.runs.logs import verb

_GOOD = [0.10, 0.101, 0.102, 0.099, 0.098, 0.1005]
_BAD = [0.20, 0.201, 0.202, 0.199, 0.198, 0.2005]


@pytest.mark.parametrize(
    ("metric", "unit", "higher"),
    [
        ("test_accuracy", None, True),
        ("BLEU", None, True),
        ("rougeL", None, True),
        ("nll", None, False),
        ("valid-ppl", None, False),
        ("dev WER", None, False),
        ("TER", None, False),
        ("eval/loss", None, False),
        ("word_perplexity", None, False),
        ("bits_per_byte", None, False),
        ("neg_log_likelihood", None, False),
        ("neg_log_loss", None, None),
        ("neg_mean_squared_error", None, None),
        ("1-wer", None, None),
        ("1 - test_wer", None, None),
        ("one_minus_wer", None, None),
        ("negated_loss", None, None),
        ("inverted_ppl", None, None),
        ("-loss", None, None),
        ("valid/-loss", None, None),
        ("no_loss", None, None),
        ("neg_bits", None, None),
        ("-nll_nats", None, None),
        ("-score", "nats", None),
        ("top-1 error", None, False),
        ("top_1_accuracy", None, True),
        ("zero_one_loss", None, False),
        ("0-1_loss", None, False),
        ("fold_1_loss", None, False),
        ("one_shot_wer", None, False),
        ("stage_1_nll", None, False),
        ("no_dropout_loss", None, False),
        ("points", None, None),
        ("points", "fraction", None),
        ("points", "perplexity", False),
        ("test score", "nats", False),
        ("log_likelihood", "nats", None),
        ("mutual_information", "bits", None),
        ("information gain", "bits", None),
        ("perplexity_reduction", "perplexity", None),
        ("elbo", "nats", None),
        ("nll", "nats", False),
        ("log_likelihood_bits_per_byte", None, None),
        ("loglik_nats", None, None),
        ("sum_logprobs_bits", None, None),
        ("neg_log_likelihood_nats", None, False),
        ("test_loss_bits", None, False),
        ("enwik8_bpc", None, False),
        (None, None, None),
    ],
)
def test_the_direction_of_well_known_metrics(
    metric: str | None, unit: str | None, higher: bool | None
) -> None:
    """Dies if a loss is a gain, or if what no one knows is guessed."""
    assert metrics.higher_is_better(metric, unit) is higher


def _table(folder: Path, column: str) -> str:
    """Of A the lower scores."""
    path = folder / "err.csv"
    rows = [f"{m},{k},{s}" for m, of in (("A", _GOOD), ("B", _BAD)) for k, s in enumerate(of)]
    path.write_text("\n".join([f"model,seed,{column}", *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize("column", ["wer", "test_ppl", "loss"])
def test_tables_of_losses(tmp_path: Path, capsys: pytest.CaptureFixture, column: str) -> None:
    """Dies if the higher loss is the better one, by name or in a flag's place."""
    words = ["--table", _table(tmp_path, column), "--score", column]
    assert compare.main(words) == 0
    shown = capsys.readouterr().out
    assert f"{column}: lower is better" in shown
    assert "\nA is better than B: " in shown and "with probability 1.00" in shown
    tree = verb.as_json(capsys, *words)
    assert (tree["higher_is_better"], tree["direction_assumed"]) == (False, False)
    tree = verb.as_json(capsys, *words, "--higher-is-better")
    assert tree["pairs"][0]["probability_of_improvement"]["estimate"] == 0.0
    assert select.main(["table", *words[1:]]) == 0
    shown = capsys.readouterr().out
    assert f"{column}: lower is better" in shown and "A is the best with probability" in shown
    with pytest.raises(ConfigError, match=f"{column}, of which lower is better"):
        sensitivity.main([words[1], "--score", column, "--hyperparameters", "seed"])


def test_a_column_of_metrics_and_what_no_one_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the column metric says nothing of the direction, or an assumption is not named."""
    tidy = tmp_path / "tidy.csv"
    rows = [f"{m},{s},wer" for m, of in (("A", _GOOD), ("B", _BAD)) for s in of]
    tidy.write_text("model,score,metric\n" + "\n".join(rows))
    assert jaxeval.compare("A", "B", table=tidy).study.comparison.rules.higher_is_better is False
    assert "wer: lower is better" in str(jaxeval.compare("A", "B", table=tidy))
    said = "higher is better (assumed; --lower-is-better otherwise)"
    path = _table(tmp_path, "points")
    for run, word in ((compare.main, "--table"), (select.main, "table")):
        assert run([word, path, "--score", "points"]) == 0
        assert f"points: {said}" in capsys.readouterr().out
        assert run([word, path, "--score", "points", "--lower-is-better"]) == 0
        shown = capsys.readouterr().out
        assert "points: lower is better" in shown and "assumed" not in shown
    assert "(assumed; higher_is_better=False otherwise)" in str(jaxeval.compare(_GOOD, _BAD))
    assert "score: higher is better." in str(jaxeval.compare(_GOOD, _BAD, higher_is_better=True))
    recorded = tmp_path / "recorded.csv"
    rows = [f"{m},{s},false" for m, of in (("A", _GOOD), ("B", _BAD)) for s in of]
    recorded.write_text("model,score,higher_is_better\n" + "\n".join(rows))
    assert verb.as_json(capsys, "--table", recorded)["higher_is_better"] is False
    with pytest.raises(DataError, match="--higher-is-better: the table says that lower score is"):
        compare.main(["--table", str(recorded), "--higher-is-better"])


def _log(folder: Path, metric: str) -> Path:
    folder.mkdir()
    for model, mean in (("good", 1.0), ("bad", 2.0)):
        lines = [
            {"item": k, "score": mean + 0.1 * (k * len(model) % 7), "metric": metric}
            for k in range(40)
        ]
        (folder / f"{model}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def test_logs_of_losses(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the gate fails the model of the lower loss, or the page does not say what is."""
    losses = _log(tmp_path / "losses", "nll")
    tree = verb.as_json(capsys, "good", "bad", "--log", losses, "--gate")
    assert tree["outcome"] == "better" and not tree["tasks"][0]["higher_is_better"]
    assert tree["leaderboard"]["tasks"][0]["rows"][0]["model"] == "good"
    assert "nll: lower is better" in verb.shown(capsys, "--log", losses)
    testing.assert_better(losses / "good.jsonl", losses / "bad.jsonl")
    worse = compare.main(["good", "bad", "--log", str(losses), "--gate", "--higher-is-better"])
    assert worse == 3
    points = _log(tmp_path / "points", "points")
    assert compare.main(["--log", str(points), "--html", str(tmp_path / "page.html")]) == 0
    assert "points: higher is better (assumed; --lower" in capsys.readouterr().out
    assert "higher, assumed" in (tmp_path / "page.html").read_text()


def test_scores_are_named_as_their_column(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a column nll is called score, of which nothing is known."""
    path = tmp_path / "lines.jsonl"
    path.write_text(
        "\n".join(f'{{"item": {k}, "nll_a": 1.{k}, "nll_b": 2.{k}}}' for k in range(9))
    )
    tree = verb.as_json(capsys, "--log", path, "--column", "score=nll_*", "--column", "item=item")
    assert [(t["metric"], t["higher_is_better"]) for t in tree["tasks"]] == [("nll", False)]


def test_options_of_losses(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the value of the higher loss wins."""
    path = tmp_path / "nets.csv"
    rows = [f"{size},{k},{0.1 * k + size}" for size in (1, 2) for k in range(8)]
    path.write_text("size,k,test_loss\n" + "\n".join(rows))
    words = ["options", "--table", str(path), "--option", "size", "--score", "test_loss"]
    assert compare.main([*words, "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["paired_options"][0]["best"] == "1" and tree["higher_is_better"] is False
    assert compare.main(words) == 0
    assert "test_loss: lower is better" in capsys.readouterr().out


def test_differences_in_points_of_fractions(tmp_path: Path) -> None:
    """Dies if 3 is 300 points, or is refused of percentages and of what are no fractions."""
    words = ["--table", _table(tmp_path, "f1"), "--score", "f1"]
    with pytest.raises(
        ConfigError, match=r"--margin 3: the scores are fractions; 3 points are 0\.03"
    ):
        compare.main([*words, "--margin", "3"])
    with pytest.raises(ConfigError, match=r"--margin 1: .* 1 point is 0\.01"):
        compare.main([*words, "--margin", "1"])
    with pytest.raises(ConfigError, match="--precision 2: the scores are fractions"):
        noise.main([*words, "--by", "split,seed", "--precision", "2"])
    points = _table(tmp_path, "points")
    assert compare.main(["--table", points, "--score", "points", "--margin", "3"]) == 0
    percent = {name: [100 * s for s in of] for name, of in (("A", _GOOD), ("B", _BAD))}
    (tmp_path / "percent.json").write_text(
        json.dumps([{"model": m, "f1": s} for m, of in percent.items() for s in of])
    )
    words = ["--table", str(tmp_path / "percent.json"), "--score", "f1", "--margin", "3"]
    assert compare.main(words) == 0


def test_differences_in_points_of_accuracies(tmp_path: Path) -> None:
    """Dies if logs or predictions take 3 for 300 points."""
    rows = [
        f"{m},{seed},{k},{(k + seed) % of == 0:d}"
        for m, of in (("A", 2), ("B", 3))
        for seed in range(3)
        for k in range(40)
    ]
    items = tmp_path / "items.csv"
    items.write_text("model,seed,item,correct\n" + "\n".join(rows))
    pilot = ["--items", str(items), "--model", "A", "--minus", "B"]
    with pytest.raises(ConfigError, match="--difference 3: the scores are fractions; 3 points"):
        plan.main([*pilot, "--difference", "3"])
    assert plan.main([*pilot, "--difference", "0.03"]) == 0
    with pytest.raises(ConfigError, match="--margin 3: the scores are fractions"):
        compare.main(["--items", str(items), "--margin", "3"])
    for name, k in (("a", 2), ("b", 3)):
        lines = [json.dumps({"item": n, "correct": n % k == 0}) for n in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    logs = [word for name in "ab" for word in ("--log", f"{name}={tmp_path / name}.jsonl")]
    with pytest.raises(ConfigError, match="--margin 3: the scores are fractions"):
        compare.main([*logs, "--margin", "3"])
    with pytest.raises(ConfigError, match="--difference 3: the scores are fractions"):
        plan.main([*logs, "--model", "a", "--minus", "b", "--difference", "3"])


def _records(metric: str, low: list[float], high: list[float], **more: str) -> list[str]:
    of = (("A", low), ("B", high))
    rows = [{"model": m, metric: s, **more} for m, scores in of for s in scores]
    return [json.dumps(row) for row in rows]


_FRACTIONS, _PERCENT = [0.79, 0.80, 0.81, 0.795, 0.805], [70.0, 72.0, 75.0, 71.0, 74.0]


@pytest.mark.parametrize(
    ("metric", "low", "more", "refused"),
    [
        ("accuracy", _FRACTIONS, {}, True),
        ("score", _FRACTIONS, {}, True),
        ("f1", [0.0, *_FRACTIONS], {}, True),
        ("accuracy", [0.9, 1.4, 0.8, 1.1, 0.9], {}, False),
        ("accuracy", _FRACTIONS, {"unit": "number"}, False),
        ("reward", _FRACTIONS, {}, False),
        ("perplexity", _FRACTIONS, {}, False),
        ("loss", _FRACTIONS, {}, False),
        ("accuracy", [0.0] * 5, {}, False),
    ],
)
def test_fractions_beside_percent(
    tmp_path: Path, metric: str, low: list[float], more: dict[str, str], refused: bool
) -> None:
    """Dies if the scale decides who wins, or scores that may be of one scale are refused."""
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join(_records(metric, low, _PERCENT, **more)))
    for run, word in ((compare.main, "--table"), (select.main, "table")):
        words = [word, str(path), "--score", metric]
        if refused:
            with pytest.raises(DataError, match=r"A look like fractions .* divide by 100"):
                run(words)
        else:
            assert run(words) == 0


def test_scales_on_one_of_several_data_sets(tmp_path: Path) -> None:
    """Dies if one data set in another scale hides, or a whole data set's scale is refused."""
    hidden = _records("accuracy", _FRACTIONS, _PERCENT, dataset="x")
    whole = _records("accuracy", _FRACTIONS, [0.7, 0.71, 0.72, 0.73, 0.74], dataset="x")
    both = _records("accuracy", [70.0, 71.0, 72.0], [73.0, 74.0, 75.0], dataset="y")
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join([*hidden, *both]))
    with pytest.raises(DataError, match="one scale"):
        compare.main(["--table", str(path), "--score", "accuracy"])
    path.write_text("\n".join([*whole, *both]))
    assert compare.main(["--table", str(path), "--score", "accuracy"]) == 0
