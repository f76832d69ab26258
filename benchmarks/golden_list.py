"""The commands that golden_commands.py runs, and what was renamed or dropped since the recording.

A command is a name and some lines, as a user types them behind `jaxeval`, run in an empty folder
in which `in` holds what golden_inputs.py makes and `data` the real data; $NAME stands for one of
NAMES, PYTHON for the interpreter. All that the lines write into `out` is compared: files by their
names, figures by theirs. `> FILE` takes what a line prints. A command is known by its name: its
lines may be edited as flags and verbs are renamed, as long as files in `out` keep their names.

Paths are those of the leaves of a recording: json.j.pairs.0.difference.estimate of out/j.json,
figures.violins.axes.0.lines.2.xy.5.1, files.t_tex of out/t.tex, exit.0 of the first line. Dots in
keys are underscores there. In a pattern `*` is one key and `**` one or several; a rule also moves
all that lies below, and the first that fits counts:

    ("json.*.pairs.*.p", "json.*.comparisons.*.p_value", "one name for all p-values")
    ("json.*.signature", None, "nobody reads it", "compare: *")
"""

from string import Template

# (path then, path now or None for what was dropped on purpose, reason[, pattern of commands])
_KEYS = "keys of words stand before those of a task's data"
RENAMED: list[tuple] = [
    ("json.neighbourhood.sd", "json.neighbourhood.sd", "as it was"),
    ("json.*.sd", None, "n - 1", "trained: *"),
    *((f"json.report.{k}.sd", None, "n - 1", "trained: *") for k in range(4)),
    ("json.report_slow.0.sd", None, "n - 1", "trained: *"),
    ("json.sweep.measured", None, "no plan asks earlier runs", "about: dry runs"),
    (
        "json.compared.primary.level",
        "json.compared.primary.level",
        "",
        "trained: bags, whole life",
    ),
    ("json.dev.primary.level", "json.dev.primary.level", "", "trained: bags, whole life"),
    ("figures.page*", None, "a page only with --save", "trained: bags, whole life"),
    ("figures.*dev_test.axes.0.texts", None, "no seeds in the figure", "trained: *"),
    ("figures.g/id1_*", "figures.g/*", "one experiment", "trained: bags, sweep"),
    ("figures.f/id1_*", "figures.f/*", "one experiment", "trained: tagging, softmax, map"),
    ("figures.page4.axes.0.texts", None, "no seeds in the figure", "trained: seq2seq*"),
    *(
        (f"json.{name}.{k}", f"json.{name}.experiments.{k}", "an object", "trained: *")
        for name in ("report", "report_slow")
        for k in range(4)
    ),
    ("json.list", None, "the summaries of report", "trained: *"),
    ("json.configs.*", "json.configs.configs.*", "an object", "about: configs"),
    ("files.keys_txt", None, _KEYS, "about: configs"),
    ("files.language_txt", None, _KEYS, "about: configs"),
    ("files.*_txt", None, _KEYS, "about: dry runs"),
    *(
        (f"files.*.config.*.model.{key}", None, "1, or 10, whatever the model: no config set it")
        for key in ("casing_dimension", "carry_bias", "forget_bias", "layer_norm")
    ),
    ("files.*.config.*.model.released_highway", None, "no config set it"),
    ("json.evaluate.*.condition", None, "1 stream, was: batch 1"),
    ("json.logit", None, "no logits any more", "select: table"),
    ("exit.1", None, "no logits any more", "select: table"),
    ("json.j", None, "no replay with replacement", "select: table, lower is better"),
    ("json.batch", None, "no --min-evaluations", "select: table, rules"),
    ("json.j", None, "blocks have 20 items", "select: race over items"),
    ("json.j", None, "no --pairing", "select: table, kept pairs"),
    *(
        (f"json.**{old}", f"json.**{new}" if new else None, why, commands)
        for commands in ("select: *", "trained: bags, selected", "trained: bags, whole life")
        for old, new, why in (
            (".level", ".undecided", "a word that says it"),
            (".replay.recorded", ".recorded", "all else of a replay is fixed"),
            (".replay", None, "all else of a replay is fixed"),
            (".rule.alpha", ".rule.prior", "alpha is a level elsewhere"),
            (".rule.logit", None, "no logits any more"),
            (".rule.logit_guard", None, "no logits any more"),
            (".rule.epsilon", None, "no indifference any more"),
            (".rule.min_evaluations", None, "what the prior needs"),
            (".guarded", None, "no logits any more"),
        )
    ),
    *(
        (f"json.*.{old}", f"json.*.{new}" if new else None, why, commands)
        for commands in ("tune: *", "trained: bags, tuned*")
        for old, new, why in (
            ("best.mean", None, "the mean of its scores"),
            ("retrained.optimism", None, "that of the setting that is taken is enough"),
            ("retrained.optimism_of_taken.value", "retrained.optimism", "one optimism"),
            ("retrained.optimism_of_taken.interval", "retrained.interval", "one optimism"),
            ("retrained.optimism_of_taken.*", None, "known from the rest"),
            ("retrained.optimism_of_taken", "retrained.optimism", "of no score: null"),
            ("posterior.neighbourhood", "posterior.slices", "as the figure"),
            ("best_so_far", None, "the figure has it"),
            ("evaluations.*.scores", "evaluations.*.result.scores", "as in Python"),
            ("evaluations.*.failure", "evaluations.*.result.failure", "as in Python"),
            ("evaluations.*.stopped.0", "evaluations.*.result.stopped.epochs", "as in Python"),
            ("evaluations.*.stopped.1", "evaluations.*.result.stopped.of", "as in Python"),
            ("best.stopped.0", "best.stopped.epochs", "as in Python"),
            ("best.stopped.1", "best.stopped.of", "as in Python"),
        )
    ),
]
# (path now, reason[, pattern of commands]): new on purpose; here `*` is any text
ADDED: list[tuple] = [
    *(
        (f"json.*.{path}", "all that is known, as in Python", commands)
        for commands in ("tune: *", "trained: bags, tuned*")
        for path in ("best.*", "config", "evaluations.*", "retrained.interval")
    ),
    ("figures.page*", "the page that --save writes", "tune: command, gp"),
    ("json.*.location", "an object", "trained: *"),
    ("figures.page*", "a page only with --save", "trained: bags, whole life"),
    ("figures.page*", "a page beside the figures", "trained: tagging, softmax, map"),
    ("figures.page4.axes.0.texts", "no seeds in the figure", "trained: seq2seq*"),
    ("files.language_txt*", _KEYS, "about: configs"),
    ("figures.*dev_test.axes.0.texts", "no seeds in the figure", "trained: *"),
    ("json.list.*", "the summaries of report", "trained: *"),
    ("files.keys_txt*", _KEYS, "about: configs"),
    ("files.*_txt*", _KEYS, "about: dry runs"),
    ("json.evaluate.*.condition", "1 stream, was: batch 1"),
    ("json.*", "every selection has all keys", "select: *"),
    ("json.*", "every selection has all keys", "trained: bags, selected"),
    ("json.selected.*", "every selection has all keys", "trained: bags, whole life"),
]
# (path below "figures.", reason)
DROPPED_FIGURES: list[tuple[str, str]] = []

_EVERY = {
    "sig-2017-inflection": "albanian arabic catalan dutch haida hungarian irish romanian",
    "sig-2021-g2p": "arm_e dut geo hun",
}
_PLAIN = (
    "task=sentiment model.architecture=bag scoring.metric=macro_f1 data.source.sentences=60 "
    "data.dimension=6 data.max_widths=1 training.batch_size=16 training.epochs=5"
)
_TRAIN = "PYTHON in/train.py rate={rate} cell={cell} peephole={peephole} seed={seed}"
NAMES = {
    "TABLES": "--latex out/t.tex --markdown out/t.md",
    "FIESTA": "--table data/scores/fiesta2019/test_f1.json",
    "FIESTA_FILE": "data/scores/fiesta2019/test_f1.json",
    "REIMERS": "--table data/scores/reimers2017/hyperparameter_results.csv.gz",
    "SWEEPS": "data/scores/wiemerslage2024",
    "EVERY": " ".join(
        f"data/scores/wiemerslage2024/{language}-{architecture}-{task}.tsv"
        for task, languages in _EVERY.items()
        for language in languages.split()
        for architecture in ("attentive_lstm", "transformer")
    ),
    "GROUPED": "--file-name '{dataset}-{architecture}-{task}.tsv'",
    "PUBLISHED": "--score max_val_accuracy --rows 200 --missing zero",
    "LSTM": "--hyperparameters batch_size,learning_rate,dropout,scheduler,factor",
    "ORDER": "--order scheduler=None,reduceonplateau,warmupinvsqrt "
    "--when factor:scheduler=reduceonplateau",
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

_TEXT = """\
compare: two
    compare --table in/two.csv --json out/j.json $TABLES --details --figures out/f
compare: two, short
    compare lstm rhn --table in/two.csv --margin .01
    compare rhn lstm --table in/two.csv
compare: two, no difference
    compare --table in/same.csv --json out/j.json $TABLES --details --margin .05
compare: few seeds
    compare --table in/few2.csv --json out/few2.json --markdown out/few2.md --details
    compare --table in/few3.csv --json out/few3.json --markdown out/few3.md --details
    compare --table in/few5.csv --json out/few5.json --markdown out/few5.md --details
compare: five models
    compare --table in/many.csv --json out/j.json $TABLES --details --figures out/f
compare: five models, control
    compare --table in/many.csv --control gru --json out/holm.json --details
    compare --table in/many.csv --correction bonferroni --json out/bonferroni.json
    compare --table in/many.csv --correction benjamini_hochberg --alpha .1 --json out/bh.json
compare: nine models
    compare --table in/nine.csv --json out/j.json --latex out/t.tex
compare: failed runs
    compare --table in/failed.csv --json out/j.json $TABLES --details --figures out/f
compare: missing scores
    compare --table in/gaps.csv
    compare --table in/gaps.csv --missing drop --json out/drop.json
    compare --table in/gaps.csv --missing zero --json out/zero.json --details
compare: lower is better
    compare --table in/perplexity.csv --json out/j.json $TABLES --details --figures out/f
    compare --table in/perplexity.csv --higher-is-better --json out/higher.json
compare: last and best epoch
    compare --table in/dev.csv --score test --column last=epoch --json out/last.json --details
    compare --table in/dev.csv --score test --column best=dev --json out/best.json
    compare --table in/dev.csv --score test
compare: wide, lists, lines
    compare --table in/wide.csv --json out/wide.json
    compare lstm gru --table in/lists.json --column split=number --json out/lists.json
        --details
    compare --table in/lines.jsonl.gz --rows 10 --json out/lines.json
compare: constant scores
    compare --table in/constant.csv --json out/j.json $TABLES --details
compare: paired splits
    compare --table in/splits.csv --json out/j.json $TABLES --details --figures out/f
    compare A B --table in/splits.csv --json out/ab.json
compare: splits and seeds
    compare --table in/crossed.csv --json out/split.json --details
    compare --table in/crossed.csv --unit seed --json out/seed.json
    compare --table in/crossed.csv --unit row --json out/row.json
compare: data sets
    compare --table in/datasets.csv --json out/j.json $TABLES --details --figures out/f
compare: data sets, control
    compare --table in/datasets.csv --control B --figures out/f --json out/j.json --details
    compare A B --table in/datasets.csv --json out/ab.json
compare: data sets and seeds
    compare --table in/games.csv --column model=agent --gamma .9 --json out/j.json $TABLES
        --details --figures out/f
    compare A B --table in/games.csv --column model=agent --unit dataset --json out/ab.json
compare: resamples and seed
    compare --table in/two.csv --resamples 499 --seed 3 --alpha .01 --json out/j.json
        --details
compare: wandb
    compare --table in/wandb_runs.csv --column model=arch --json out/runs.json --details
    compare --table in/wandb_chart.csv --json out/chart.json
compare: items and runs
    compare --items in/items.csv --json out/j.json $TABLES --details
compare: items, macro F1
    compare big small --items in/items.csv --metric macro_f1 --json out/j.json --figures out/f
compare: items, one run
    compare --items in/items_one.csv --json out/j.json --details --markdown out/t.md
compare: released, fiesta
    compare $FIESTA tdlstm atae ian lstm --json out/j.json --details --figures out/f
    compare $FIESTA tdlstm ian --column split=number --json out/splits.json
compare: log, lm-eval
    compare --log in/logs/lm_eval --json out/j.json --markdown out/t.md --details --html
        out/board.html
compare: log, tasks and clusters
    compare org/new org/old --log in/logs/lm_eval --task arc --cluster passage --json
        out/j.json --details
    compare --log in/logs/lm_eval --task '*o*' --alpha .01 --margin .02 --json out/o.json
compare: log, losses
    compare --log in/logs/loss --json out/j.json --details --markdown out/t.md
compare: log, inspect
    compare --log in/logs/inspect --json out/j.json --details
compare: log, helm
    compare --log in/logs/helm --json out/j.json --details
compare: log, openai evals
    compare --log in/logs/evals --json out/j.json --details
compare: log, predictions
    compare new old --log in/logs/predictions --cluster text --margin .02 --json out/j.json
        --details
    compare --log in/logs/predictions --over items --json out/items.json
    compare --log in/logs/predictions --over runs --json out/runs.json
    compare --log one=in/logs/runs/a.jsonl --log two=in/logs/runs/b.jsonl --json
        out/named.json
compare: log, csv
    compare --log in/logs/scores.csv --metric bleu --column score=bleu --json out/j.json
        --details --html out/b.html
compare: gate
    compare new old --log in/logs/gate/better --gate --margin .01 --junit out/better.xml
        --json out/better.json
    compare new old --log in/logs/gate/equal --gate --margin .1 --junit out/equal.xml --json
        out/equal.json
    compare old new --log in/logs/gate/better --gate --json out/worse.json --markdown
        out/worse.md
compare: options
    compare options --table in/networks.tsv --option batch --score f1 --group set --ignore ID
        --fold-case backend --json out/j.json
    compare options --table in/networks.tsv --option batch --score f1 --values 8,32 --key
        set,layers --repeats mean --ddof 0 --where set=pos --json out/key.json
compare: options, released
    compare options $REIMERS --option miniBatchSize --score Test_F1 --group Dataset --where
        Setting=SingleTask --fold-case Backend --ignore
        ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey --json out/miniBatchSize.json
    compare options $REIMERS --option Optimizer --score Test_F1 --group Dataset --where
        Setting=SingleTask --fold-case Backend --ignore
        ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey --json out/Optimizer.json
compare: refused
    compare --table in/none.csv
    compare A Z --table in/splits.csv
    compare --table in/two.csv --margin 2
    compare --table in/two.csv --score f2
    compare --log in/logs/lm_eval --metric nope
    compare --table in/two.csv --nope
    compar
plan: given
    plan --difference .03 --sd-items .33333 --json out/items.json
    plan --difference .02 --sd-items .4 --sd-runs .01 --sd-items-runs .2 --sd-samples .3
        --fewest-runs 3 --run-cost 5000 --item-cost 20 --answer-cost 2 --power .9 --alpha .01
        --json out/all.json
plan: pilots
    plan --difference .02 --items in/items_four.csv --model big --minus small --run-cost 100
        --json out/items.json
    plan --difference .02 --log in/logs/predictions --model new --minus old --cluster text
        --json out/log.json
    plan --difference .05 --log in/logs/inspect --model openai/a --minus openai/b --json
        out/samples.json
    plan --difference .05 --log in/logs/lm_eval --model org/new --minus org/old --task arc
        --json out/arc.json
select: table
    select table $FIESTA_FILE --json out/j.json --details
select: table, kept pairs
    select table in/splits.csv --delta .2 --seed 2 --details
select: table, lower is better
    select table in/perplexity.csv --budget 60
    select table in/failed.csv --missing drop --json out/failed.json
select: table, rules
    select table $FIESTA_FILE --rule top-two --delta .1 --budget 96 --json out/top-two.json
        --details
    select table $FIESTA_FILE --rule batch --prior 0 --budget 96 --details
    select table $FIESTA_FILE --rule non-adaptive --budget 96 --json out/non-adaptive.json
        --details
    select table $FIESTA_FILE --rule sequential-halving --budget 96 --json
        out/sequential-halving.json --details
select: command
    select command $ASK good fair --budget 14 --json out/begun.json
    select command $ASK good fair --budget 40 --json out/resumed.json --details
    select command $ASK good fair broken --rule non-adaptive --budget 15 --state broken.json
        --json out/broken.json
    select command $ASK good fair poor --rule sequential-halving --budget 18 --state halving.json
        --json out/halving.json
    select command $ASK good fair poor --rule batch --batch 3 --budget 15 --state batch.json
        --json out/batch.json
select: race over items
    select command "PYTHON in/ask.py {model} {items}" good fair poor --json-field test.f1
        --items 60
sensitivity: one
    sensitivity $SWEEPS/albanian-attentive_lstm-sig-2017-inflection.tsv
        $PUBLISHED $LSTM $ORDER --resamples 200 --json out/default.json --details --convention
        default --figures out/default
    sensitivity $SWEEPS/albanian-attentive_lstm-sig-2017-inflection.tsv
        $PUBLISHED $LSTM $ORDER --resamples 200 --json out/published.json --details
        --convention published --figures out/published
    sensitivity $SWEEPS/albanian-attentive_lstm-sig-2017-inflection.tsv
        $PUBLISHED $LSTM $ORDER --resamples 200 --json out/text.json --details --convention
        text --figures out/text
sensitivity: two
    sensitivity $SWEEPS/albanian-attentive_lstm-sig-2017-inflection.tsv
        $SWEEPS/albanian-transformer-sig-2017-inflection.tsv $PUBLISHED
        $LSTM $ORDER --resamples 200 --json out/j.json --details --figures out/f
sensitivity: released, groups
    sensitivity $EVERY $GROUPED $PUBLISHED --by task,architecture --over dataset
        --hyperparameters batch_size,hidden_size,embedding_size --convention published --json
        out/j.json --figures out/f --details
    sensitivity $EVERY $GROUPED $PUBLISHED --by architecture --hyperparameters
        batch_size,hidden_size --ks 5,25 --rope .02 --json out/architecture.json
sensitivity: made up, ragged
    sensitivity in/sweep_a.tsv in/sweep_b.tsv --score acc --missing zero --space
        in/sweep_space.toml --ks 5,10,80 --resamples 100 --seed 4 --json out/j.json --figures
        out/f --details
    sensitivity in/sweep_a.tsv --score acc --missing drop --hyperparameters
        rate,scheduler,factor --log rate --when factor:scheduler=plateau --resamples 0 --json
        out/one.json --figures out/one
    sensitivity in/sweep_a.tsv --score acc
noise: of a table
    noise --by split,seed --table in/crossed.csv --model A --minus B --precision .005 --json
        out/difference.json --details
    noise --by split,seed --table in/crossed.csv --model A --precision .01 --split-cost 4
        --json out/one.json --details
tune: command, gp
    $TUNE --state s.json --method gp --trials 14 --json out/j.json --details --save
        out/page.html --save out/f
tune: command, random
    $TUNE --state s.json --method random --trials 10 --json out/j.json --details
tune: command, sobol
    $TUNE --state s.json --method sobol --trials 10 --json out/j.json --details --seeds 2
tune: command, enqueued
    $TUNE --state s.json --method random --trials 12 --json out/j.json --details --enqueue
        'rate=0.01 cell=gru'
tune: command, resumed
    $TUNE --state s.json --method gp --trials 9 --seed 3 --json out/9.json
    $TUNE --state s.json --method gp --trials 12 --seed 3 --json out/12.json
tune: command, adaptive seeds
    $TUNE --state a.json --seeds adaptive --trials 12 --json out/adaptive.json
tune: command, halving
    $HALVED --method gp --state gp.json --json out/gp.json --details
    $HALVED --method random --state random.json --json out/random.json --details
vectors: svd, similarity, analogies
    vectors svd data/wikitext2/valid.txt --out out/svd.txt.gz --lower-case --min-count 60
        --dimension 25 --processes 1 --json out/svd.json
    vectors svd data/wikitext2/valid.txt --out svd.txt --lower-case --min-count 40 --dimension
        30 --processes 1 --dynamic --subsample 1e-3 --delete --smoothing 1 --shift 2
        --exponent 0 --add-contexts --seed 2 --json out/svd2.json
    vectors similarity svd.txt data/wordsim/EN-WS-353-ALL.txt data/wordsim/EN-SIMLEX-999.txt
        data/wordsim/EN-MEN-TR-3k.txt --against $GLOVE --resamples 999 --json
        out/similarity.json
    vectors similarity $GLOVE data/wordsim/EN-MEN-TR-3k.txt --missing zero --keep-case
        --resamples 99 --json out/zero.json
    vectors analogies $GLOVE data/analogies/questions-words.txt --against svd.txt --resamples
        499 --json out/analogies.json --details
vectors: judge
    vectors judge in/a.txt in/b.txt training.epochs=2 data.max_widths=1
        training.evaluation_batch_size=16 training.lanes=4 --data in/judged --seeds 5
        --baseline in/b.txt --resamples 200 --json out/j.json --csv out/scores.csv --latex
        out/t.tex --html out/page.html
    compare --table out/scores.csv --json out/compared.json
    vectors judge in/a.txt in/b.txt --data in/judged --modes fixed --dry-run
about: configs
    configs --json out/configs.json
    configs moss2019/atae_small > out/atae.toml
    configs wiemerslage2024/space_transformer_small > out/space.toml
    configs keys > out/keys.txt
    configs keys language > out/language.txt
about: dry runs
    train --dry-run > out/default.txt
    train reimers2017/wnut17_ner --data data/wnut17 data.vectors=$GLOVE --dry-run >
        out/wnut17.txt
    train reimers2017/ud_pos --data data/ud_english_gum --splits 2 --seeds 3 --dry-run >
        out/gum.txt
    train melis2018/wikitext2_lstm_small --data data/wikitext2 --dry-run > out/wikitext2.txt
    train melis2018/enwik8_rhn_small --data data/enwik8/enwik8.head2MB --dry-run >
        out/enwik8.txt
    train nayak2016/questions_tuned --data data/trec --dry-run > out/trec.txt
    train nayak2016/sentiment_fixed --data data/sst --dry-run > out/sst.txt
    train nayak2016/nli_tuned --data data/ppdb_nli --dry-run > out/ppdb.txt
    sweep wiemerslage2024/georgian_transformer_small --space
        wiemerslage2024/space_transformer_small --data data/g2p2021 --trials 12 --dry-run --json
        out/sweep.json > out/sweep.txt
    tune wiemerslage2024/albanian_attentive_lstm_small --space
        wiemerslage2024/space_attentive_lstm_small --data data/sigmorphon2017 --dry-run >
        out/tune.txt
about: help
    --help
    train --help
    evaluate --help
    predict --help
    report --help
    runs --help
    runs export --help
    compare --help
    compare options --help
    plan --help
    select --help
    sweep --help
    tune --help
    sensitivity --help
    noise --help
    neighbourhood --help
    ablation --help
    vectors --help
    vectors judge --help
    vectors svd --help
    configs --help
trained: bags, whole life
    train $BAG name=five --seeds 4 --outputs training.save_models=true --json out/first.json
    train $BAG name=five --seeds 5 --outputs training.save_models=true --json out/five.json
    train $BAG name=slow $RATE=0.01 --seeds 5 --outputs training.save_models=true --json
        out/slow.json
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
    runs list runs --json out/list.json
    report runs --json out/report.json --save out/report.html --save out/f --details
    report runs --experiment slow --json out/report_slow.json
    compare --runs runs --json out/compared.json --latex out/t.tex --details
    compare five slow --runs runs --score dev --json out/dev.json
    select table runs --json out/selected.json
    evaluate --out runs --experiment five --part dev --json out/evaluated.json
    predict runs --experiment five --which vote --input in/targets.jsonl --output
        out/votes.jsonl
    predict runs --experiment slow --which all --input in/targets.jsonl --output out/all.jsonl
    predict runs --experiment slow --seed 2 --input in/targets.jsonl --output
        out/two.jsonl
trained: bags, random splits
    train $BAG --splits 3 --seeds 2 --json out/train.json
    noise $BAG --by split,seed --splits 3 --seeds 3 --precision .05 --json out/noise.json
        --details
    noise $BAG name=repeated --seeds 3 --repeats 2 --json out/repeats.json --details
    ablation $BAG --variants in/bag_variants.toml --seeds 5 --json out/ablation.json --figures
        out/f
    neighbourhood $BAG --settings 6 --json out/neighbourhood.json --range
        learning_rate=0.01:0.2:log --figures out/g
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: bags, sweep
    sweep $BAG --space in/bag_space.toml --trials 6 --json out/six.json
    sweep $BAG --space in/bag_space.toml --trials 12 --json out/sweep.json
    sensitivity runs --json out/sensitivity.json --ks 2,5 --resamples 50 --details --figures
        out/f
    report runs --json out/report.json --save out/g
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: bags, selected
    select in/bag.toml in/bag_slow.toml $PLAIN --delta .1 --batch 2 --budget 12 --json
        out/j.json --details
    select in/bag.toml in/bag_slow.toml $PLAIN --rule sequential-halving --budget 8 --own-splits
        --part dev --json out/halving.json
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: bags, tuned
    tune $BAG --space in/bag_space.toml --trials 8 --parallel 4 --retrain 3 --json out/j.json
        --details --save out/f
    tune $BAG --space in/bag_space.toml --trials 10 --parallel 4 --retrain 3 --json
        out/more.json
    tune $BAG --space in/bag_space.toml --method random --seeds 2 --trials 4 --retrain 2
        --json out/random.json
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: bags, tuned by halving
    tune $BAG training.epochs=8 --space in/bag_space.toml --trials 9 --parallel 3 --halving 2
        --retrain 2 --json out/j.json --details
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: targets
    train moss2019/lstm_small $SMALL --seeds 2 --json out/lstm.json
    train moss2019/tdlstm_small $SMALL --seeds 2 --json out/tdlstm.json
    train moss2019/atae_small $SMALL --seeds 2 --json out/atae.json
    train moss2019/ian_small $SMALL --seeds 2 --json out/ian.json
    compare --runs runs --json out/compared.json
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: texts and pairs
    train kim2014/cnn --data in/opinions data.dimension=6 data.max_widths=1
        model.cnn.filters=4 training.epochs=3 --seeds 2 --json out/cnn.json
    train baselines/majority --data in/opinions data.max_widths=1 training.epochs=2 --seeds 2
        --json out/majority.json
    train task=pairs data.dimension=6 data.max_widths=1 model.hidden=5 training.epochs=2
        training.save_models=true --seeds 2 --out pairs --json out/pairs.json
    predict pairs --input in/pairs.tsv --output out/predicted.jsonl
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: default tagger
    train data.train_sentences=120 data.max_widths=1 training.epochs=3
        training.save_models=true --seeds 2 --json out/train.json
    predict runs --input in/words.txt --output out/tags.txt --which all
    predict runs --input in/words.txt --which vote > out/vote.txt
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: pairs of letters
    train task=seq2seq --data in/golden/pairs data.max_widths=1 model.embedding=4
        model.hidden=6 training.batch_size=16 training.evaluation_batch_size=16
        training.epochs=25 $RATE=0.02 model.beam=2 training.save_models=true --seeds 2 --json
        out/train.json
    predict runs --input in/golden/pairs/test.txt --n-best 3 --beam 4 --output out/best.txt
    predict runs --input in/golden/pairs/test.txt --which vote --max-length 3 --output out/vote.txt
    evaluate --out runs --experiment seq2seq --input in/golden/pairs/dev.txt --json
        out/evaluated.json
"""


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
    runs list runs --json out/list.json
    report runs --json out/report.json --save out/report.html --save out/f --details
tagging, splits
    compare --runs runs --json out/refused.json
    noise --by split,seed --runs runs --json out/of_runs.json
language, evaluate
    predict runs --input in/golden/text/test.txt --output out/lines.tsv --which all
    predict runs --input in/golden/text/test.txt --output out/whole.tsv --whole --which vote
language, ablation
    report runs --json out/report.json --save out/f
    compare --runs runs --json out/compared.json --details
seq2seq, ragged sweep
    sensitivity runs --json out/sensitivity.json --figures out/f --ks 2 --resamples 20 --details
    report runs --json out/report.json --save out/report.html
    runs list runs
"""


def _trained() -> dict[str, list[str]]:
    """The commands of tests/golden, which share its corpora and shapes."""
    from tests.golden import commands

    more, of = _read(_MORE), {}
    figures = {verb: f"--figures out/{verb}" for verb in ("ablation", "neighbourhood")}
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


COMMANDS = {**_read(_TEXT), **_trained()}
