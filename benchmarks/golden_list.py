"""The commands that golden_commands.py runs, and what was renamed or dropped since the recording.

A command is a name and some lines, as a user types them behind `jaxeval`, run in an empty folder
in which `in` holds what golden_inputs.py makes, `data` the real data, `cut` the first rows of some
of its tables, `made` the files of MADE; $NAME stands for one of
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

import itertools
from string import Template

_PAIRS = "json.*.pairs.*"
_TESTS = (
    "brunner_munzel mann_whitney_u kolmogorov_smirnov brown_forsythe pitman_morgan welch_t "
    "paired_t wilcoxon_signed_rank sign_test permutation_test tost"
)
_EFFECTS = (
    "probability_of_improvement a12 cliffs_delta difference_of_medians almost_stochastic_order"
)
_PLAN = (
    "least_p detectable_difference planned_difference power required_seeds required_range "
    "detectable_ratio"
)
_RUNS = "compare: *"
_MARKED = "one sign, `shown`, and one number, `p_adjusted`, for all pairs"
_ITEMS = ("compare: log*", "compare: gate", "compare: items, one run")
_OF_ITEMS: list[tuple[str, str | None, str]] = [
    ("pairs.*.task", "pairs.*.data_set", "one name for both slices"),
    ("pairs.*.text", None, "in the document"),
    ("pairs.*.over.*.p_adjusted", None, "p_adjusted, or adjusted by name"),
    ("pairs.*.over.items and runs", "pairs.*.over.2", "a list"),
    ("pairs.*.over.items", "pairs.*.over.0", "a list"),
    ("pairs.*.over.runs", "pairs.*.over.1", "a list"),
    ("pairs.*.tests.*.p_adjusted", "pairs.*.adjusted.*", "one place"),
    *(
        (f"{kind}.*.{name}", f"{kind}.*.by_margin.{name}", "what is beside the margin")
        for kind in ("pairs", "overall")
        for name in ("outcome", "p_outcome", "p_equivalent", "equivalent")
    ),
    ("pairs.*.difference", "pairs.*.difference", ""),
    ("overall.*.mean_over_tasks", "overall.*.difference", "the same pair"),
    ("overall.*.tasks_as_sample", "overall.*.as_sample", "shorter"),
    ("tasks.*.task", "data_sets.*.data_set", "one name for both slices"),
    ("tasks.*.direction_assumed", None, "direction"),
    ("tasks", "data_sets", "one name for both slices"),
    ("leaderboard.*.rows.*.place.model", None, "said once"),
    ("leaderboard.*.rows.*.place.mean", None, "said once"),
    ("leaderboard.tasks.*.rows.*.place.model", None, "said once"),
    ("leaderboard.tasks.*.rows.*.place.mean", None, "said once"),
    ("leaderboard.overall.rows.*.place", "board.rows.*", "flat"),
    ("leaderboard.tasks.*.rows.*.place", "boards.*.rows.*", "flat"),
    ("leaderboard.overall.task", "board.data_set", "one name for both slices"),
    ("leaderboard.tasks.*.task", "boards.*.data_set", "one name for both slices"),
    ("leaderboard.overall", "board", "shorter"),
    ("leaderboard.tasks", "boards", "shorter"),
    ("failures.*.task", "failures.tests.*.data_set", "one shape"),
    ("failures", "failures.tests", "one shape"),
    ("places", None, "board.rows"),
    ("tie_groups", None, "board.rows.*.groups"),
    ("rules.margin", None, "null where there is none"),
    ("headline", None, "in the document"),
    ("verdict", None, "in the document"),
]
_OF_PLANS: list[tuple[str, str, str]] = [
    *(
        (f"{way}.{name}", f"plan.{way}.size.{name}", "a plan's own shape")
        for way in ("now", "cheapest", "ways.*")
        for name in ("items", "runs", "samples")
    ),
    *(
        (f"{way}.cost", f"plan.{way}.answers", "in answers")
        for way in ("now", "cheapest", "ways.*")
    ),
    *((name, f"plan.{name}", "a plan's own shape") for name in ("now", "cheapest", "ways")),
    ("target_power", "plan.target", "a plan's own shape"),
    ("difference", "plan.difference", "a plan's own shape"),
    *(
        (name, f"spread.{name}", "variances")
        for name in ("items", "runs", "items_x_runs", "samples")
    ),
    ("intervals.confidence", "pilot.confidence", "a pilot's"),
    *((f"intervals.{end}", f"pilot.{end}", "a pilot's") for end in ("low", "high")),
    *(
        (f"intervals.cheapest_{end}.{name}", f"{end}.cheapest.size.{name}", "a plan")
        for end in ("low", "high")
        for name in ("items", "runs", "samples")
    ),
    *(
        (f"intervals.cheapest_{end}.cost", f"{end}.cheapest.answers", "a plan")
        for end in ("low", "high")
    ),
    *((f"intervals.cheapest_{end}", f"{end}.cheapest", "a plan") for end in ("low", "high")),
    ("runs_of_models", "runs", "shorter"),
]
_NAMES = ("name", "differences.*.a", "differences.*.b")
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
    ("exit.4", None, "one svd less", "vectors: svd*"),
    ("json.*.contrasts.*.name", None, "a - b, which it has", "sensitivity: *"),
    ("figures.*/profile", None, "maxima and mean change are in the tables", "sensitivity: *"),
    ("figures.f/profile", None, "maxima and mean change are in the tables", "trained: *"),
    *(
        (f"json.{old}", f"json.{new}" if new else None, why, "vectors: svd*")
        for old, new, why in (
            ("*.signature", None, "nobody reads it"),
            ("*.files.svd_txt", None, "it is in another folder"),
            ("*.rules.lower_case", "*.lower_case", "no object of rules"),
            ("*.rules.missing", "*.unknown", "missing are scores elsewhere"),
            ("*.rules.resampling.resamples", "*.resamples", "no object of rules"),
            ("*.rules.resampling.seed", "*.seed", "no object of rules"),
            ("*.rules", None, "no --most; the level is fixed"),
            ("*.results.*.pairs", "*.results.*.total", "one type for both"),
            ("*.options", None, "two thirds of them are gone"),
            *(
                (f"*.{place}.{name}_txt", f"*.{place}.{name}", "names without endings")
                for place in ("files", "zero_vectors", "results.*.scores")
                for name in ("glove_6B_100d_head", "svd")
            ),
            *((f"*.results.*.{name}", None, "names without endings") for name in _NAMES),
            ("*.results.*.compared_on", None, "n of each difference, on what both cover"),
            ("*.results.*.left_out", None, "two files are compared on what both cover"),
            ("svd.seconds", None, "clocks"),
            ("svd.*", "svd.counted.*", "settings beside what was counted"),
            ("svd2", None, "its options are gone; what it wrote then is in/svd.txt"),
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
    *(
        (f"{before}.{then}", now and f"{after}.{now}", why, command)
        for before, after, command in (
            *(("json.*", "json.*", command) for command in _ITEMS),
            ("json.*.items_and_runs", "json.*.items", "compare: items*"),
        )
        for then, now, why in _OF_ITEMS
    ),
    *((f"json.*.{then}", f"json.*.{now}", why, "plan: *") for then, now, why in _OF_PLANS),
    ("json.*.single_models.pairs.*.dataset", "json.*.single.pairs.*.data_set", "two words", _RUNS),
    ("json.*.single_models.pairs.*.text", None, "in the document", _RUNS),
    ("json.*.single_models.pairs.*.split", None, "a text", _RUNS),
    ("json.*.failures.counts", None, "by model and data set", _RUNS),
    (
        "json.*.failures.fisher_exact.*.dataset",
        "json.*.failures.tests.*.data_set",
        "two words",
        _RUNS,
    ),
    ("json.*.failures.fisher_exact", "json.*.failures.tests", "shorter", _RUNS),
    *(
        (
            f"json.*.single_models.pairs.*.{test}.{then}",
            f"json.*.single.pairs.*.{now}",
            "by kind",
            _RUNS,
        )
        for test in ("approximate_randomization", "mcnemar")
        for then, now in (("p_adjusted", f"adjusted.{test}"),)
    ),
    *(
        (
            f"json.*.single_models.pairs.*.{test}",
            f"json.*.single.pairs.*.tests.{test}",
            "by kind",
            _RUNS,
        )
        for test in ("approximate_randomization", "mcnemar")
    ),
    ("json.*.across_datasets.wilcoxon_signed_rank.higher", None, "direction", _RUNS),
    (f"{_PAIRS}.difference", f"{_PAIRS}.effects.difference", "by kind", _RUNS),
    *(
        (f"{_PAIRS}.{test}.{then}", now and f"{_PAIRS}.{now}.{test}", _MARKED, _RUNS)
        for test in _TESTS.split()
        for then, now in (("p_adjusted", "adjusted"), ("verdict", None))
    ),
    *(
        (f"{_PAIRS}.{name}", f"{_PAIRS}.{place}.{name}", "by kind", _RUNS)
        for place, names in (("tests", _TESTS), ("effects", _EFFECTS), ("plan", _PLAN))
        for name in names.split()
    ),
    (f"{_PAIRS}.verdict", None, _MARKED, _RUNS),
    (f"{_PAIRS}.dataset", f"{_PAIRS}.data_set", "two words", _RUNS),
    ("json.*.models.*.dataset", "json.*.models.*.data_set", "two words", _RUNS),
    ("json.*.copies.*.dataset", "json.*.copies.*.data_set", "two words", _RUNS),
    ("json.*.models.*.summarize", "json.*.models.*.summary", "a noun", _RUNS),
    (
        "json.*.models.*.spearman.rho",
        "json.*.models.*.dev_test.0",
        "rho and why there is none",
        _RUNS,
    ),
    ("json.*.models.*.spearman.note", "json.*.models.*.dev_test.1", "the same", _RUNS),
    ("json.*.models.*.spearman", "json.*.models.*.dev_test", "what it is of", _RUNS),
    (
        "json.*.models.*.expected_validation_performance.without_replacement",
        "json.*.models.*.expected_best.0",
        "shorter",
        _RUNS,
    ),
    (
        "json.*.models.*.expected_validation_performance.with_replacement",
        "json.*.models.*.expected_best.1",
        "shorter",
        _RUNS,
    ),
    ("json.*.rules.target_power", "json.*.rules.power", "its name in Python", _RUNS),
    ("json.*.rules.higher_is_better", None, "of the scores", _RUNS),
    ("json.*.direction_assumed", None, "direction: recorded, named, asked or assumed", _RUNS),
    ("json.*.adjust_p_values.method", None, "rules.correction", _RUNS),
    ("json.*.adjust_p_values", "json.*.families", "what the numbers are", _RUNS),
    ("json.*.primary.text", None, "in the document", _RUNS),
    ("json.*.across_datasets.nemenyi.pairs", None, "p_values by pair", _RUNS),
    (
        "json.*.across_datasets.friedman.without_ties",
        "json.*.across.ranking.without_ties.0",
        "",
        _RUNS,
    ),
    (
        "json.*.across_datasets.iman_davenport.without_ties",
        "json.*.across.ranking.without_ties.1",
        "",
        _RUNS,
    ),
    ("json.*.across_datasets.friedman", "json.*.across.ranking.friedman", "one ranking", _RUNS),
    (
        "json.*.across_datasets.iman_davenport",
        "json.*.across.ranking.iman_davenport",
        "one ranking",
        _RUNS,
    ),
    ("json.*.across_datasets.nemenyi", "json.*.across.ranking", "one ranking", _RUNS),
    ("json.*.across_datasets.against_control", "json.*.across.against", "shorter", _RUNS),
    ("json.*.across_datasets.wilcoxon_signed_rank", "json.*.across.signed_rank", "shorter", _RUNS),
    ("json.*.across_datasets.datasets", "json.*.across.data_sets", "two words", _RUNS),
    (
        "json.*.across_datasets.interquartile_mean",
        "json.*.across.aggregates.interquartile_mean",
        "one place",
        _RUNS,
    ),
    ("json.*.across_datasets", "json.*.across", "shorter", _RUNS),
    ("json.*.items_and_runs", "json.*.items", "shorter", _RUNS),
    ("json.*.single_models", "json.*.single", "shorter", _RUNS),
    ("files.*", None, "tables of documents", _RUNS),
    *((f"json.*.{name}", None, "in the document", _RUNS) for name in ("headline", "verdict")),
    ("json.*.across_datasets.wilcoxon_signed_rank.higher", None, "direction", _RUNS),
]
_ACROSS = "json.*.across_datasets"
_OF_ALL = "json.*.across.aggregates"
_SINGLE = "of a single data set there is no mean over several"
_COSTS = "plans count answers: costs of items, samples and runs are gone"
RENAMED[:0] = [
    (f"{_ACROSS}.optimality_gap", None, "gamma is 1 of fractions; --gamma is gone", _RUNS),
    *(
        (f"{_ACROSS}.performance_profile.{old}", f"{_OF_ALL}.profiles.{new}", "one place", _RUNS)
        for old, new in (
            ("thresholds", "thresholds"),
            *(
                (f"models.*.{end}", f"shares.*.{k}")
                for k, end in enumerate(("share", "low", "high"))
            ),
        )
    ),
    (f"{_ACROSS}.average_probability_of_improvement.*.a", None, "the key", _RUNS),
    (f"{_ACROSS}.average_probability_of_improvement.*.b", None, "the key", _RUNS),
    *(
        (
            f"{_ACROSS}.average_probability_of_improvement.{k}",
            f"{_OF_ALL}.improvement.{a}.{b}",
            "by pair",
            command,
        )
        for command, models in (
            ("compare: data sets and seeds", ("A", "B", "C", "D")),
            ("compare: items and runs", ("big", "small", "tiny")),
            ("compare: items, macro F1", ("big", "small")),
        )
        for k, (a, b) in enumerate(itertools.combinations(models, 2))
    ),
    (f"{_ACROSS}.against_control.models", "json.*.across.against", "a list", _RUNS),
    (
        f"{_ACROSS}.against_control.critical_difference",
        "json.*.across.control_difference",
        "one place",
        _RUNS,
    ),
    (f"{_ACROSS}.against_control.control", "json.*.across.control", "one place", _RUNS),
    *(
        (f"json.{file}.overall", None, _SINGLE, command)
        for command, files in (
            *((f"compare: {of}", ("j",)) for of in ("items, one run", "log, tasks and clusters")),
            *((f"compare: log, {of}", ("j",)) for of in ("losses", "inspect", "helm")),
            ("compare: log, openai evals", ("j",)),
            ("compare: log, predictions", ("items", "j", "named", "runs")),
            ("compare: gate", ("better", "equal", "worse")),
        )
        for file in files
    ),
    ("exit.2", None, "a line less among the commands", "compare: wide, lists, lines"),
    ("json.lines", None, "a line less among the commands", "compare: wide, lists, lines"),
    ("json.*", None, "--where is gone: other rows are compared", "compare: options*"),
    ("json.*.failures.*.dataset", "json.*.failures.*.data_set", "two words", "select: table*"),
    ("exit.1", None, "only --difference --sd", "plan: given"),
    ("json.all", None, "only --difference --sd", "plan: given"),
]
# (path now, reason, commands): another value on purpose; here `*` is any text
CHANGED: list[tuple[str, str, str]] = [
    ("json.*.across.against", "an empty list where there is no control", _RUNS),
    ("exit.3", "a column that is not there is refused", "compare: refused"),
    ("json.items.plan.*.answers", "new ones: those of 2 items are there", "plan: given"),
    *(
        (f"json.*.{of}.{name}", "0 where it is not known", "plan: pilots")
        for of in ("spread", "pilot.low", "pilot.high")
        for name in ("runs", "items_x_runs", "samples")
    ),
    *(
        (f"json.items.{path}", _COSTS, "plan: pilots")
        for path in ("plan.ways.runs.answers", "*cheapest.*", "expected_power")
    ),
    ("json.log.plan.cheapest.power", "found on another way: the last bit", "plan: pilots"),
]
_JUDGE = "vectors: judge"
_COMPARED = "compared by the engine of compare, with its resamples (9999, were 200)"
RENAMED += [
    ("exit.2", None, "no table as CSV that compare reads", _JUDGE),
    ("json.compared", None, "no table as CSV that compare reads", _JUDGE),
    ("files.*", None, "tables of documents", _JUDGE),
    ("figures.*", None, "those of compare", _JUDGE),
    *(
        (f"json.j.{then}", now and f"json.j.{now}", why, _JUDGE)
        for then, now, why in (
            ("members", "trainings", "what they are"),
            ("vectors", "files", "as of similarity"),
            ("coverage", None, "by file and task"),
            ("modes.*.relative_error_reduction", "modes.*.reductions", "shorter"),
            *((f"modes.*.{name}", None, _COMPARED) for name in ("order", "failed", "notes")),
            *(
                (f"modes.*.{name}", None, _COMPARED)
                for name in ("tie_groups", "detectable_difference")
            ),
            *((name, None, "not kept") for name in ("cost_seconds", "rules", "same", "signature")),
            *(
                (f"modes.*.comparison_{of}.{name}", None, _COMPARED)
                for of in ("of_means", "by_task")
                for name in (
                    *("source", "signature", "metric", "metric_unit", "higher_is_better"),
                    *("missing", "unusable", "statuses", "notes", "answer", "headline", "verdict"),
                    *("rules.resamples", "direction_assumed"),
                    *("pairs.*.permutation_test", "pairs.*.kolmogorov_smirnov.p_adjusted"),
                    *("pairs.*.wilcoxon_signed_rank.p_adjusted", "pairs.*.sign_test.p_adjusted"),
                    *("across_datasets.interquartile_mean", "across_datasets.optimality_gap"),
                    "across_datasets.average_probability_of_improvement",
                    *("across_datasets.performance_profile", "across_datasets.friedman"),
                    *(
                        "across_datasets.wilcoxon_signed_rank.higher",
                        "across_datasets.against_control",
                    ),
                )
            ),
        )
    ),
    *(
        (f"json.j.modes.*.{then}{old[6:]}", new and f"json.j.modes.*.{now}{new[6:]}", why, _JUDGE)
        for then, now in (("comparison_of_means", "overall"), ("comparison_by_task", "by_task"))
        for old, new, why, *commands in RENAMED
        if commands == [_RUNS] and old.startswith("json.*.")
    ),
    ("json.j.modes.*.comparison_of_means", "json.j.modes.*.overall", "shorter", _JUDGE),
    ("json.j.modes.*.comparison_by_task", "json.j.modes.*.by_task", "shorter", _JUDGE),
]
# (path now, reason[, pattern of commands]): new on purpose; here `*` is any text
ADDED: list[tuple] = [
    *(
        (f"json.*.{path}", "all that is known, as in Python", commands)
        for commands in ("tune: *", "trained: bags, tuned*")
        for path in ("best.*", "config", "evaluations.*", "retrained.interval")
    ),
    ("figures.page*", "the page that --save writes", "tune: command, gp"),
    *((f"json.j.{name}.*", _COMPARED, _JUDGE) for name in ("coverage", "modes.*.overall")),
    *(
        (f"{name}*", _COMPARED, _JUDGE)
        for name in ("json.j.modes.*.by_task.", "files.", "figures.")
    ),
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
    ("json.*", "--where is gone: other rows are compared", "compare: options*"),
    ("json.*", "every selection has all keys", "trained: bags, selected"),
    ("json.selected.*", "every selection has all keys", "trained: bags, whole life"),
    *(
        (f"json.{new}", "one type for both, settings beside what was counted", "vectors: svd*")
        for new in (
            *("*.results.*.method", "*.results.*.total", "*.headers*", "*.unknown", "svd*"),
            *(f"*.results.*.{name}" for name in _NAMES),
            "*.files.svd",
        )
    ),
    *(
        (f"json.*.pairs.*.{name}*", "one pair of runs and of items", _RUNS)
        for name in (
            *("metric", "higher_is_better", "value", "interval", "primary", "p_value"),
            *("p_adjusted", "shown", "against", "unit", "equivalent", "wider", "difference"),
            *("means", "over", "by_margin", "as_sample", "tests", "adjusted", "effects", "plan"),
            *("rope", "data_set", "n", "pairs"),
        )
    ),
    ("json.*.overall.*", "one pair of runs and of items", _RUNS),
    ("json.*.rules.*", "one set of rules", _RUNS),
    ("json.*.direction*", "direction: recorded, named, asked or assumed", _RUNS),
    ("json.*.across.*", "what was computed is there", _RUNS),
    ("json.*.failures.*", "counts beside tests", _RUNS),
    ("json.*.statuses*", "of scores", _RUNS),
    ("json.*.families*", "of scores", _RUNS),
    *(
        (f"json.*.{name}*", "of the study", _RUNS)
        for name in (
            *("verdict", "failures", "overall", "answer"),
            "withheld",
            "shared_runs",
            "incomplete",
            "strict",
            "data_sets",
            "board",
            "groups",
        )
    ),
    ("json.*.single.pairs.*", "of the study", _RUNS),
    ("json.*.items.*", "of the study", _RUNS),
    *(
        (f"json.*.{name}*", "of the study", "plan: *")
        for name in (
            "runs",
            "expected_power",
            "warnings",
            "spread",
            "pilot",
            "low",
            "high",
            "answer",
        )
    ),
    ("files.*", "tables of documents", _RUNS),
]
# (path below "figures.", reason)
DROPPED_FIGURES: list[tuple[str, str]] = []


def _of_trained(rules: list[tuple]) -> list[tuple]:
    """The rules of comparisons for those of trained models: of an ablation, and of runs."""
    return [
        (
            *(of and of.replace("json.*.", f"json.{file}.") for of in rule[:-2]),
            rule[-2],
            "trained: *",
        )
        for rule in rules
        if rule[-1] == _RUNS and rule[0].startswith("json.*.")
        for file in ("ablation", "compared")
    ]


RENAMED += _of_trained(RENAMED)
ADDED += _of_trained(ADDED)


def _sensitivity(files: str, old: str, commands: str) -> list[tuple]:
    """Rules of a sweep's metrics, which were a tree and are estimates by path.

    Args:
      old: between the file and the metrics.
    """
    sweep = "sweeps.*" if "*" in old else "sweeps.0"
    metrics, by = f"json.{files}.{sweep}.metrics", "by_hyperparameter"
    names = ("max", "mean", "share_zero", "best_equivalent", "expected_equivalent")
    moved = [
        *((name, f"{metrics}.{name}.value") for name in names),
        *((f"{name}.*", f"{metrics}.{name}_*.value") for name in ("rel_at_k", "mean_at_k")),
        ("intervals.*", f"{metrics}.*.interval"),
        ("all_hyperparameters.n", None),
        ("all_hyperparameters.points", None),
        ("all_hyperparameters.*", f"{metrics}.all_hyperparameters_*.value"),
        (f"{by}.*.n", f"json.{files}.{sweep}.with_effect.*"),
        (f"{by}.*.points", None),
        (f"{by}.*.*", f"{metrics}.{by}_*_*.value"),
        *((key, None) for key in ("skipped_ks", "convention", "signature")),
        *((key, f"json.{files}.{sweep}.{key}") for key in ("name", "n", "rope")),
    ]
    reason = "a metric and its interval stand together, by path; --ks, --convention are gone"
    return [(f"json.{files}.{old}{path}", now, reason, commands) for path, now in moved]


_KS = "the k of Rel@k and mean@k are 25, 50, 100, 150"
_OTHER_KS = [
    (f"json.*.{of}{k}", None, _KS, "sensitivity: *")
    for of in (
        *(f"sweeps.*.{series}_at_k." for series in ("rel", "mean")),
        *(f"sweeps.*.intervals.{series}_at_k_" for series in ("rel", "mean")),
        *(f"difference.{series}_at_k_" for series in ("rel", "mean")),
        *(
            f"{each}.*.means.{s}_at_k_"
            for s in ("rel", "mean")
            for each in ("groups", "contrasts")
        ),
    )
    for k in (5, 10)
]
_LIMITS = [
    (f"figures.{figure}.limits", "the space knows the range of factor", f"sensitivity: {of}*")
    for of, folder, axes in (("one", "default", 4), ("two", "f", 4), ("made", "one", 2))
    for figure in (f"{folder}/marginals.axes.{axes}.x", f"{folder}/near_best.axes.{axes}.y")
]
_NO_CONVENTION = "the paper's convention is that of a function"
_LABELS = "labels of a file's name are part1, part2 .."
_NOISE = [  # a study is an object in `parts`; dev and test of repeats lie there as they were
    ("json.one.score.plan", None, "--split-cost is gone", "noise: of a table"),
    *(
        (f"json.{file}.{part}.{of}", f"json.{file}.parts.{part}.{now}", "parts", commands)
        for file, commands in (
            *((file, "noise: of a table") for file in ("one", "difference")),
            *((file, "trained: *") for file in ("noise", "of_runs")),
        )
        for part in ("score", "dev", "test")
        for of, now in (("plan", "plan"), ("dropped", "dropped"))
    ),
    *(
        (f"json.{file}.{part}", f"json.{file}.parts.{part}.components", "parts", commands)
        for file, commands in (
            *((file, "noise: of a table") for file in ("one", "difference")),
            ("noise", "trained: bags, random splits"),
            ("of_runs", "trained: *"),
        )
        for part in ("score", "dev", "test")
    ),
    *(
        (f"json.{file}.{part}", f"json.{file}.parts.{part}", "parts", "trained: *")
        for file in ("noise", "repeats")
        for part in ("dev", "test")
    ),
]
_TRAINED = [
    *(
        (f"json.sensitivity.{of}_at_k{dot}{k}", None, _KS, "trained: *")
        for of in ("rel", "mean", "intervals.rel", "intervals.mean")
        for dot in "._"
        for k in (2, 5)
    ),
    *(
        (f"json.sensitivity.by_hyperparameter.{name}.{key}", None, "is null", "trained: seq2seq*")
        for name, keys in {
            "plateau_factor": ("rho", "maxima", "mean_change"),
            "scheduler": ("maxima", "mean_change"),
            "warmup": ("rho", "maxima", "mean_change"),
        }.items()
        for key in keys
    ),
    *_sensitivity("sensitivity", "", "trained: *"),
]
RENAMED += [
    *_OTHER_KS,
    *_NOISE,
    *_TRAINED,
    *((path, None, reason, commands) for path, reason, commands in _LIMITS),
    *((f"exit.{k}", None, _NO_CONVENTION, "sensitivity: one") for k in (1, 2)),
    *(
        (f"json.{name}", None, _NO_CONVENTION, "sensitivity: one")
        for name in ("published", "text")
    ),
    ("json.j", None, _NO_CONVENTION, "sensitivity: released, groups"),
    ("json.*.groups.*.best_systems", None, "now the best run of each sweep", "sensitivity: *"),
    ("json.*.groups.*.labels.architecture", "json.*.groups.*.labels.part2", _LABELS, "sens*"),
    ("json.architecture.over", None, _LABELS, "sensitivity: *"),
    ("json.*.by_hyperparameter.scheduler.maxima", None, "is null", "sensitivity: made*"),
    ("json.*.by_hyperparameter.scheduler.mean_change", None, "is null", "sensitivity: made*"),
    *(("json.*.sweeps.*.intervals", None, "none", f"sensitivity: {of}*") for of in ("released",)),
    ("json.one.intervals", None, "none", "sensitivity: made*"),
    *_sensitivity("*", "sweeps.*.", "sensitivity: *"),
    *(rule for file in ("one", "default") for rule in _sensitivity(file, "", "sensitivity: *")),
    ("json.*.difference.*.estimate", "json.*.difference.*.value", "one name", "sensitivity: *"),
]
ADDED += [
    ("json.one.parts.score.plan*", "--split-cost is gone", "noise: of a table"),
    ("json.*.warnings*", "were on stderr", "noise: *"),
    *((f"json.{of}.warnings*", "were on stderr", "trained: *") for of in ("noise", "of_runs")),
    ("json.repeats.warnings*", "none", "trained: *"),
    *((f"json.{of}.unit", "of the metric", "trained: *") for of in ("noise", "repeats")),
    *((f"json.neighbourhood.{of}*", "drawn from", "trained: *") for of in ("unit", "ranges")),
    ("json.sensitivity.*.interval", "null where there is none", "trained: *"),
    ("json.sensitivity.sweeps.0.best.*", "the best run", "trained: *"),
    *(
        (f"json.sensitivity.{of}", "empty", "trained: *")
        for of in ("difference", "over", "groups", "contrasts")
    ),
    ("json.*.metrics.*.interval", "null where there is none", "sensitivity: *"),
    ("json.*.sweeps.*.best.*", "was best_systems of groups", "sensitivity: *"),
    ("json.*.groups.*.name", "what contrasts name", "sensitivity: *"),
    *((f"json.*.{of}", "empty", "sensitivity: *") for of in ("difference", "groups", "contrasts")),
    ("json.*.over", "empty, or a part of the name", "sensitivity: *"),
    *((f"json.*_at_k_{k}*", _KS, "sensitivity: *") for k in (25, 50, 100, 150)),
    *((f"{path}*", reason, commands) for path, reason, commands in _LIMITS),
    ("json.default.*", _NO_CONVENTION, "sensitivity: released, groups"),
]
DROPPED_FIGURES += [
    *(
        (f"{of}/{name}", _NO_CONVENTION)
        for of in ("published", "text")
        for name in ("ranks", "profile", "marginals", "near_best")
    ),
]

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

_TEXT = """\
compare: two
    compare in/two.csv --json out/j.json $TABLES --details --save out/f
compare: two, short
    compare in/two.csv lstm rhn --margin .01
    compare in/two.csv rhn lstm
compare: two, no difference
    compare in/same.csv --json out/j.json $TABLES --details --margin .05
compare: few seeds
    compare in/few2.csv --json out/few2.json --save out/few2.md --details
    compare in/few3.csv --json out/few3.json --save out/few3.md --details
    compare in/few5.csv --json out/few5.json --save out/few5.md --details
compare: five models
    compare in/many.csv --json out/j.json $TABLES --details --save out/f
compare: five models, control
    compare in/many.csv --control gru --json out/holm.json --details
    compare in/many.csv --correction bonferroni --json out/bonferroni.json
    compare in/many.csv --correction benjamini_hochberg --alpha .1 --json out/bh.json
compare: nine models
    compare in/nine.csv --json out/j.json --save out/t.tex
compare: failed runs
    compare in/failed.csv --json out/j.json $TABLES --details --save out/f
compare: missing scores
    compare in/gaps.csv
    compare in/gaps.csv --missing drop --json out/drop.json
    compare in/gaps.csv --missing zero --json out/zero.json --details
compare: lower is better
    compare in/perplexity.csv --json out/j.json $TABLES --details --save out/f
    compare in/perplexity.csv --no-lower-is-better --json out/higher.json
compare: last and best epoch
    compare in/dev.csv --score test --column last=epoch --json out/last.json --details
    compare in/dev.csv --score test --column best=dev --json out/best.json
    compare in/dev.csv --score test
compare: wide, lists, lines
    compare in/wide.csv --json out/wide.json
    compare in/lists.json lstm gru --column split=number --json out/lists.json --details
compare: constant scores
    compare in/constant.csv --json out/j.json $TABLES --details
compare: paired splits
    compare in/splits.csv --json out/j.json $TABLES --details --save out/f
    compare in/splits.csv A B --json out/ab.json
compare: splits and seeds
    compare in/crossed.csv --json out/split.json --details
    compare in/crossed.csv --unit seed --json out/seed.json
    compare in/crossed.csv --unit row --json out/row.json
compare: data sets
    compare in/datasets.csv --json out/j.json $TABLES --details --save out/f
compare: data sets, control
    compare in/datasets.csv --control B --save out/f --json out/j.json --details
    compare in/datasets.csv A B --json out/ab.json
compare: data sets and seeds
    compare in/games.csv --column model=agent --json out/j.json $TABLES --details --save
        out/f
    compare in/games.csv A B --column model=agent --unit dataset --json out/ab.json
compare: resamples and seed
    compare in/two.csv --resamples 499 --seed 3 --alpha .01 --json out/j.json --details
compare: wandb
    compare in/wandb_runs.csv --column model=arch --json out/runs.json --details
    compare in/wandb_chart.csv --json out/chart.json
compare: items and runs
    compare items in/items.csv --json out/j.json $TABLES --details
compare: items, macro F1
    compare items in/items.csv big small --metric macro_f1 --json out/j.json --save out/f
compare: items, one run
    compare items in/items_one.csv --json out/j.json --details --save out/t.md
compare: released, fiesta
    compare data/scores/fiesta2019/test_f1.json tdlstm atae ian lstm --json out/j.json
        --details --save out/f
    compare data/scores/fiesta2019/test_f1.json tdlstm ian --column split=number --json
        out/splits.json
compare: log, lm-eval
    compare logs in/logs/lm_eval --json out/j.json --save out/t.md --details --save
        out/board.html
compare: log, tasks and clusters
    compare logs org/new=in/logs/lm_eval/org__new org/old=in/logs/lm_eval/org__old
        --task arc --cluster passage --json out/j.json --details
    compare logs in/logs/lm_eval --task '*o*' --alpha .01 --margin .02 --json out/o.json
compare: log, losses
    compare logs in/logs/loss --json out/j.json --details --save out/t.md
compare: log, inspect
    compare logs in/logs/inspect --json out/j.json --details
compare: log, helm
    compare logs in/logs/helm --json out/j.json --details
compare: log, openai evals
    compare logs in/logs/evals --json out/j.json --details
compare: log, predictions
    compare logs in/logs/predictions/new.jsonl in/logs/predictions/old.jsonl --cluster
        text --margin .02 --json out/j.json --details
    compare logs in/logs/predictions --over items --json out/items.json
    compare logs in/logs/predictions --over runs --json out/runs.json
    compare logs one=in/logs/runs/a.jsonl two=in/logs/runs/b.jsonl --json out/named.json
compare: log, csv
    compare logs in/logs/scores.csv --metric bleu --column score=bleu --json out/j.json
        --details --save out/b.html
compare: gate
    compare logs in/logs/gate/better/new in/logs/gate/better/old --gate
        --margin .01 --json out/better.json
    compare logs in/logs/gate/equal/new in/logs/gate/equal/old --gate
        --margin .1 --json out/equal.json
    compare logs in/logs/gate/better/old in/logs/gate/better/new --gate
        --json out/worse.json --save out/worse.md
compare: options
    compare options in/networks.tsv --option batch --score f1 --group set --ignore ID
        --json out/j.json
    compare options in/networks.tsv --option batch --score f1 --values 8,32 --key
        set,layers --repeats mean --json out/key.json
compare: options, released
    compare options data/scores/reimers2017/hyperparameter_results.csv.gz --option
        miniBatchSize --score Test_F1 --group Dataset
        --ignore ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey --json
        out/miniBatchSize.json
    compare options data/scores/reimers2017/hyperparameter_results.csv.gz --option
        Optimizer --score Test_F1 --group Dataset --ignore
        ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey --json out/Optimizer.json
compare: refused
    compare in/none.csv
    compare in/splits.csv A Z
    compare in/two.csv --margin 2
    compare in/two.csv --score f2
    compare logs in/logs/lm_eval --metric nope
    compare in/two.csv --nope
    compar
plan: given
    plan --difference .03 --sd .33333 --json out/items.json
plan: pilots
    plan items in/items_four.csv --difference .02 --model big --minus small --json
        out/items.json
    plan logs in/logs/predictions --difference .02 --model new --minus old --cluster
        text --json out/log.json
    plan logs in/logs/inspect --difference .05 --model openai/a --minus openai/b --json
        out/samples.json
    plan logs in/logs/lm_eval --difference .05 --model org/new --minus org/old --task
        arc --json out/arc.json
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
        $PUBLISHED $LSTM $ORDER --resamples 200 --json out/default.json --details --save
        out/default
sensitivity: two
    sensitivity $SWEEPS/albanian-attentive_lstm-sig-2017-inflection.tsv
        $SWEEPS/albanian-transformer-sig-2017-inflection.tsv $PUBLISHED
        $LSTM $ORDER --resamples 200 --json out/j.json --details --save out/f
sensitivity: released, groups
    sensitivity $EVERY $PUBLISHED --by part5,part2 --over part1
        --hyperparameters batch_size,hidden_size,embedding_size --json out/default.json --save
        out/f --details
    sensitivity $EVERY $PUBLISHED --by part2 --over part1 --hyperparameters
        batch_size,hidden_size --rope .02 --json out/architecture.json
sensitivity: made up, ragged
    sensitivity in/sweep_a.tsv in/sweep_b.tsv --score acc --missing zero --space
        in/sweep_space.toml --resamples 100 --seed 4 --json out/j.json --save out/f --details
    sensitivity in/sweep_a.tsv --score acc --missing drop --hyperparameters
        rate,scheduler,factor --space made/factor.toml --log-scale rate --resamples 0 --json
        out/one.json --save out/one
    sensitivity in/sweep_a.tsv --score acc
noise: of a table
    noise table in/crossed.csv --model A --minus B --precision .005 --json
        out/difference.json --details
    noise table in/crossed.csv --model A --precision .01 --json out/one.json --details
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
    vectors svd data/wikitext2/valid.txt --output out/svd.txt.gz --lower-case --min-count 60
        --dimension 25 --json out/svd.json
    vectors similarity in/svd.txt data/wordsim/EN-WS-353-ALL.txt data/wordsim/EN-SIMLEX-999.txt
        data/wordsim/EN-MEN-TR-3k.txt --against $GLOVE --resamples 999 --json
        out/similarity.json
    vectors similarity $GLOVE data/wordsim/EN-MEN-TR-3k.txt --unknown zero --keep-case
        --resamples 99 --json out/zero.json
    vectors analogies $GLOVE data/analogies/questions-words.txt --against in/svd.txt --resamples
        499 --json out/analogies.json --details
vectors: judge
    vectors judge in/a.txt in/b.txt training.epochs=2 data.max_widths=1
        training.evaluation_batch_size=16 training.lanes=4 --data ner=in/judged/ner --data
        sentiment=in/judged/sentiment --seeds 5 --baseline in/b.txt --json out/j.json --save
        out/t.tex --save out/page.html
    vectors judge in/a.txt in/b.txt --data ner=in/judged/ner --data
        sentiment=in/judged/sentiment --modes fixed --dry-run
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
    compare runs --json out/compared.json --save out/t.tex --details
    compare runs five slow --score dev --json out/dev.json
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
    ablation $BAG --variants in/bag_variants.toml --seeds 5 --json out/ablation.json --save
        out/f
    neighbourhood $BAG --settings 6 --json out/neighbourhood.json --range
        learning_rate=0.01:0.2:log --save out/g
    runs export runs --to out/members.csv
    runs export runs --curves --to out/curves.csv
trained: bags, sweep
    sweep $BAG --space in/bag_space.toml --trials 6 --json out/six.json
    sweep $BAG --space in/bag_space.toml --trials 12 --json out/sweep.json
    sensitivity runs --json out/sensitivity.json --resamples 50 --details --save out/f
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
    compare runs --json out/compared.json
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
    compare runs --json out/refused.json
    noise table runs --json out/of_runs.json
language, evaluate
    predict runs --input in/golden/text/test.txt --output out/lines.tsv --which all
    predict runs --input in/golden/text/test.txt --output out/whole.tsv --whole --which vote
language, ablation
    report runs --json out/report.json --save out/f
    compare runs --json out/compared.json --details
seq2seq, ragged sweep
    sensitivity runs --json out/sensitivity.json --save out/f --resamples 20 --details
    report runs --json out/report.json --save out/report.html
    runs list runs
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


COMMANDS = {**_read(_TEXT), **_trained()}
