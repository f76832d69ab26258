"""What was renamed or dropped on purpose since the recording that golden_commands.py checks.

Paths are those of the leaves of a recording: json.j.pairs.0.difference.estimate of out/j.json,
figures.violins.axes.0.lines.2.xy.5.1, files.t_tex of out/t.tex, exit.0 of the first line. Dots in
keys are underscores there. In a pattern `*` is one key and `**` one or several; a rule also moves
all that lies below, and the first that fits counts:

    ("json.*.pairs.*.p", "json.*.comparisons.*.p_value", "one name for all p-values")
    ("json.*.signature", None, "nobody reads it", "compare: *")

What a rule drops is not compared: `golden_commands.py check` says how much that is.
"""

import itertools

_PAIRS = "json.*.pairs.*"
_TESTS = (
    "brunner_munzel mann_whitney_u kolmogorov_smirnov brown_forsythe pitman_morgan welch_t "
    "paired_t wilcoxon_signed_rank sign_test permutation_test tost"
)
_EFFECTS = (
    "probability_of_improvement a12 cliffs_delta difference_of_medians almost_stochastic_order"
)
_PLAN = "least_p detectable_difference planned_difference power required_seeds required_range"
_TOO_MUCH = "compare has no rope, profiles and detectable ratio of standard deviations any more"
_IN_JSON_ONLY = "no table or sentence had it"
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
_RAGGED = "trained: seq2seq, ragged sweep"
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
    ("figures.page2", None, "marginals show the settings of all runs", _RAGGED),
    ("figures.page4.axes.0.texts", None, "no seeds in the figure", _RAGGED),
    *((f"figures.page{k}", f"figures.page{k - 1}", "a figure less", _RAGGED) for k in (3, 4, 5)),
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
    ("files.*.config.*.tuning.adaptive", None, "no adaptive seeds"),
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
            ("search.adaptive", None, "no adaptive seeds"),
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
            ("best.stopped.0", "best.result.stopped.epochs", "as in Python"),
            ("best.stopped.1", "best.result.stopped.of", "as in Python"),
            ("best.stopped", "best.result.stopped", "an evaluation"),
            ("best.scores.*", "best.result.scores.*", "an evaluation"),
            ("best.numbers.0", "best.number", "an evaluation"),
            ("best.failures", None, "an evaluation"),
            ("best.running", None, "an evaluation"),
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
        None,
        "",
        _RUNS,
    ),
    (
        "json.*.across_datasets.iman_davenport.without_ties",
        None,
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
    (f"{_ACROSS}.performance_profile", None, _TOO_MUCH, _RUNS),
    (f"{_PAIRS}.detectable_ratio", None, _TOO_MUCH, _RUNS),
    (f"{_PAIRS}.rope", None, _TOO_MUCH, _RUNS),
    ("json.*.warnings", None, "fewer warnings", _RUNS),
    ("json.*.models.*.summarize.median_interval", None, _IN_JSON_ONLY, _RUNS),
    *(
        (f"json.**.{name}", None, _IN_JSON_ONLY, commands)
        for commands in ("trained: *", "tune: *")
        for name in (
            *("median_interval", "pairs.*.cliffs_delta", "pairs.*.difference_of_medians"),
            *("models.*.expected_validation_performance", "models.*.variance_components"),
            *("pairs.*.rope", "pairs.*.detectable_ratio"),
        )
    ),
    *(
        (f"json.*.models.*.{name}", None, _IN_JSON_ONLY, _RUNS)
        for name in ("spearman", "expected_validation_performance", "variance_components")
    ),
    *(
        (f"{_PAIRS}.{name}", None, _IN_JSON_ONLY, _RUNS)
        for name in ("difference_of_medians", "cliffs_delta")
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
_LANGUAGE = "trained: language, *"
_LIFE, _COMPARISONS = "trained: bags, whole life", ("compared", "dev")
# (path now, reason, commands): another value on purpose; here `*` is any text
CHANGED: list[tuple[str, str, str]] = [
    ("json.of_runs.*.mean_interval.*", "a mean F1 lies from 0 to 1", "trained: tagging, splits"),
    *(
        (f"files.members_csv.config.*.model.dropout.{site}", "0 where none is given", _LANGUAGE)
        for site in ("inter_layer", "output", "projected", "update")
    ),
    *(
        (f"json.{file}.single.pairs.0.seeds.*", "text, as in comparisons of tables", _LIFE)
        for file in _COMPARISONS
    ),
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
    ("figures.page3.axes.0.texts", "no seeds in the figure", _RAGGED),
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
            *("data_set", "n", "pairs"),
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
    ("json.*.warnings*", "fewer warnings", _RUNS),
]
# (name, reason): commands that were recorded and are none any more
DROPPED_COMMANDS: list[tuple[str, str]] = [
    ("select: table, simulated", "no simulation of a rule by many replays"),
    ("tune: command, adaptive seeds*", "no adaptive seeds"),
    ("tune: command, optuna:tpe", "no search by Optuna"),
]
# (path below "figures.", reason)
DROPPED_FIGURES: list[tuple[str, str]] = [
    ("*/profiles", _TOO_MUCH),
    ("*/ecdf", "violins show the distributions"),
    ("*near_best", "marginals show the settings"),
    ("*best_systems", "the best runs are in the JSON"),
    ("*parallel_coordinates", "slices show the settings"),
]


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
        for file in ("ablation", "compared", "dev")
    ]


RENAMED[:0] = [
    ("files.t_tex", None, "tables of documents", _LIFE),
    *((f"json.{file}.items_and_runs.overall", None, _SINGLE, _LIFE) for file in _COMPARISONS),
    *(
        (f"json.{file}.items_and_runs.{then}", now and f"json.{file}.items.{now}", why, _LIFE)
        for file in _COMPARISONS
        for then, now, why in _OF_ITEMS
    ),
]
RENAMED += _of_trained(RENAMED)
ADDED += [("files.t_tex", "tables of documents", _LIFE), *_of_trained(ADDED)]


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
        *((key, f"json.{files}.{sweep}.{key}") for key in ("name", "n")),
        ("rope", None),
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
    (
        f"figures.{folder}/marginals.axes.{axes}.x.limits",
        "the space knows the range of factor",
        f"sensitivity: {of}*",
    )
    for of, folder, axes in (("one", "default", 4), ("two", "f", 4), ("made", "one", 2))
]
_NO_CONVENTION = "the paper's convention is that of a function"
_LABELS = "labels of a file's name are part1, part2 .."
_NOISE = [  # a study is an object in `parts`; dev and test of repeats lie there as they were
    ("json.one.score.plan", None, "--split-cost is gone", "noise: of a table"),
    *(
        (f"json.*.*.plan.{of}", None, "a plan counts runs", commands)
        for of in ("split_cost", "designs.*.cost")
        for commands in ("noise: of a table", "trained: *")
    ),
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
_NO_ROPE = "runs within .01 of the best are near it"
RENAMED[:0] = [
    ("json.*.sweeps.*.rope", None, _NO_ROPE, "sensitivity: *"),
    *(
        (f"json.architecture.{of}.*.{metrics}.{name}_equivalent", None, _NO_ROPE, "sensitivity: *")
        for of, metrics in (("groups", "means"), ("contrasts", "means"))
        for name in ("best", "expected")
    ),
    *(
        (f"json.architecture.sweeps.*.{name}_equivalent", None, _NO_ROPE, "sensitivity: *")
        for name in ("best", "expected")
    ),
    ("json.*.difference.share_zero", None, "both shares have intervals", "sensitivity: *"),
    *(
        ("json.**.sizes.dropped", None, "always 0: items that one model lacks go before", of)
        for of in (_RUNS, _LIFE)
    ),
    ("json.*.data_sets.*.alike", None, "changes no conclusion", _RUNS),
    ("json.*.data_sets.*.lacking", None, "left_out counts the items", _RUNS),
    ("json.*.expected_power", None, "the ends of intervals say how sure a pilot is", "plan: *"),
]
ADDED += [("json.architecture.*_equivalent*", _NO_ROPE, "sensitivity: *")]
