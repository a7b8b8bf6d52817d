"""Bounds on the number of updates and on the margin that are known before a run.

Every bound holds for any order of the samples, and therefore also with active sets and with multiple
updates; an update of multiplicity mu counts mu times.

======= ==========================================================================================
R       Largest norm |y_k| of the samples, signed, augmented and with slack. A length.
gamma   Maximum directional margin of the same y_k, max over unit u of min_k u.y_k. A length.
b       Threshold of the condition a.y_k <= b under which y_k is added. A length squared.
delta_b Distance from b to the threshold above which y_k is unlearned. A length squared.
eps     Accuracy: the required fraction of the maximum margin is 1 - eps. Dimensionless.
lam, n  Amount and power of the shrinking at each update. Dimensionless.
C       Cost of slack in the objective. One over a length squared.
======= ==========================================================================================

The docstring of a bound gives the formula, the range of each argument, other symbols and the source.

Functions named ``..._updates`` bound the updates until convergence from above. They decrease with
gamma, so they also hold with a lower bound on gamma instead of gamma. Functions named
``..._fraction`` bound from below the share of gamma that a solution's directional margin,
min_k a.y_k / |a|, must reach. ``..._parameters`` and similar functions choose parameters for an
accuracy. All are scale free: multiplying lengths by z and squared lengths by z**2 changes no
dimensionless result. A bound that exceeds the range of a double is ``math.inf``.

Every function raises ``TypeError`` for an argument that is not a number of the stated kind and
``ValueError`` for an argument outside the stated range.
"""

from margins.bounds.competitors import (
    aggressive_romma_updates,
    ballseptron_updates,
    margitron_fraction,
    margitron_updates,
    shifting_updates,
)
from margins.bounds.constant_shrinking import (
    constant_shrinking_fraction,
    constant_shrinking_kappa,
    constant_shrinking_lambda,
    constant_shrinking_parameters,
    constant_shrinking_updates,
)
from margins.bounds.dynamic_margin import (
    dynamic_margin_updates,
    dynamic_margin_updates_after,
    successive_dynamic_margin_updates,
)
from margins.bounds.fixed_margin import (
    fixed_margin_updates,
    lecture_updates,
    margin_perceptron_fraction,
    margin_perceptron_updates,
)
from margins.bounds.perceptron import (
    mistakes_learned_threshold,
    mistakes_square_deviation,
    mistakes_total_deviation,
    perceptron_updates,
)
from margins.bounds.unlearning import (
    soft_unlearning_gap,
    soft_unlearning_parameters,
    soft_unlearning_updates,
    unlearned_updates,
    unlearning_fraction,
    unlearning_threshold,
    unlearning_updates,
)
from margins.bounds.variable_shrinking import (
    variable_shrinking_fraction,
    variable_shrinking_least_updates,
    variable_shrinking_parameters,
    variable_shrinking_updates,
)

__all__ = [
    "aggressive_romma_updates",
    "ballseptron_updates",
    "constant_shrinking_fraction",
    "constant_shrinking_kappa",
    "constant_shrinking_lambda",
    "constant_shrinking_parameters",
    "constant_shrinking_updates",
    "dynamic_margin_updates",
    "dynamic_margin_updates_after",
    "fixed_margin_updates",
    "lecture_updates",
    "margin_perceptron_fraction",
    "margin_perceptron_updates",
    "margitron_fraction",
    "margitron_updates",
    "mistakes_learned_threshold",
    "mistakes_square_deviation",
    "mistakes_total_deviation",
    "perceptron_updates",
    "shifting_updates",
    "soft_unlearning_gap",
    "soft_unlearning_parameters",
    "soft_unlearning_updates",
    "successive_dynamic_margin_updates",
    "unlearned_updates",
    "unlearning_fraction",
    "unlearning_threshold",
    "unlearning_updates",
    "variable_shrinking_fraction",
    "variable_shrinking_least_updates",
    "variable_shrinking_parameters",
    "variable_shrinking_updates",
]
