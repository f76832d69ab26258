"""Scores in, comparison out: numpy and scipy only, any framework's scores."""

from jaxeval.stats.configurations import paired_options, seed_effect
from jaxeval.stats.crossed import components as crossed_components
from jaxeval.stats.datasets import (
    aggregates,
    average_probability_of_improvement,
)
from jaxeval.stats.describe import (
    Summary,
    expected_validation_performance,
    spearman,
    summarize,
)
from jaxeval.stats.designs import Variances
from jaxeval.stats.designs import cheapest as cheapest_designs
from jaxeval.stats.effects import (
    almost_stochastic_order,
    cliffs_delta,
    difference,
    paired_difference,
    paired_probability_of_improvement,
    probability_of_improvement,
)
from jaxeval.stats.equivalence import Rope, rope, tost
from jaxeval.stats.examples import approximate_randomization, mcnemar, paired_bootstrap
from jaxeval.stats.hypotheses import (
    brown_forsythe,
    brunner_munzel,
    kolmogorov_smirnov,
    mann_whitney_u,
    pitman_morgan,
    sign_test,
    welch_t,
    wilcoxon_signed_rank,
)
from jaxeval.stats.multiple import adjust_p_values
from jaxeval.stats.nested import variance_components
from jaxeval.stats.permutation import permutation_test
from jaxeval.stats.power import TestDesign, detectable_difference, power, required_seeds
from jaxeval.stats.ranking import against, friedman, iman_davenport, nemenyi
from jaxeval.stats.results import Effect, HypothesisTest, Interval

__all__ = [
    "Effect",
    "HypothesisTest",
    "Interval",
    "Rope",
    "Summary",
    "TestDesign",
    "Variances",
    "adjust_p_values",
    "against",
    "aggregates",
    "almost_stochastic_order",
    "approximate_randomization",
    "average_probability_of_improvement",
    "brown_forsythe",
    "brunner_munzel",
    "cheapest_designs",
    "cliffs_delta",
    "crossed_components",
    "detectable_difference",
    "difference",
    "expected_validation_performance",
    "friedman",
    "iman_davenport",
    "kolmogorov_smirnov",
    "mann_whitney_u",
    "mcnemar",
    "nemenyi",
    "paired_bootstrap",
    "paired_difference",
    "paired_options",
    "paired_probability_of_improvement",
    "permutation_test",
    "pitman_morgan",
    "power",
    "probability_of_improvement",
    "required_seeds",
    "rope",
    "seed_effect",
    "sign_test",
    "spearman",
    "summarize",
    "tost",
    "variance_components",
    "welch_t",
    "wilcoxon_signed_rank",
]
