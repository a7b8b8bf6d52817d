"""Sizes of a problem, and predicted costs of solving it, from which the planner decides.

Costs are in passes over the stored elements of X, so no cost depends on a machine.
"""

import math

from scipy import sparse

from margins.tuning import TUNING

# Data sizes assume CSR with float64 and int32, for any storage, so that orders and therefore results do
# not depend on the storage.
BYTES_PER_NONZERO = 12


class Costs:
    """The sizes of a problem that the planner compares, and predicted costs, each computed once.

    Attributes
    ----------
    has_small_hessian : bool
        True if a Hessian has no more elements than X stores, because features are few.
    """

    def __init__(self, problem, tuning=TUNING):
        self.problem, self.tuning = problem, tuning
        self._rows, self._m = problem.data.rows, problem.n_samples
        self._d, self._n = self._rows.n_features, problem.n_weights
        # The number of samples is known; the number of their elements must be counted.
        self.has_small_hessian = is_small_hessian(self._n, self._m, self._rows.has_nonzeros)

    @property
    def has_few_samples(self):
        """True if samples are few relative to the features, so that they may well be separable.

        Many samples are then on the margin. Updates by single samples find them soon, while each Newton
        step changes which samples these are.

        **Source**: Cover (1965), Geometrical and statistical properties of systems of linear
        inequalities: with twice as many samples as features, in general position and labelled at random,
        one case in two is separable.
        """
        return self._m <= self.tuning.newton.few_samples * self._d

    @property
    def has_many_elements(self):
        """True if accessing all samples costs more than a Newton step or two."""
        return self._rows.has_nonzeros(self.tuning.newton.few_elements + 1)

    @property
    def adds_in_blocks(self):
        """True if samples are dense enough to be added to a stored Hessian in blocks."""
        enough = nonzeros_for_blocks(self._n, self._m, self.tuning.cost)
        if enough == math.inf:
            return False
        return self._m * self._rows.mean_nonzeros(self.tuning.permutation.sampled_rows) >= enough

    @property
    def product_passes(self):
        """The expected passes over all samples for Newton steps with Hessian-vector products."""
        newton = self.tuning.newton
        return newton.product_passes if self.problem.loss.is_smooth else newton.product_passes_smoothed

    @property
    def newton_passes(self):
        """The expected passes over all samples for Newton steps."""
        if not self.has_small_hessian:
            return self.product_passes
        newton = self.tuning.newton
        return self._passes_of_steps(newton.steps_of_few if self.has_few_samples else newton.steps)

    def _passes_of_steps(self, n_steps):
        """Return the passes that `n_steps` Newton steps cost.

        The first step sums a Hessian of all samples; each step solves a system with it, if it is stored.
        """
        factorisation = self.tuning.cost.factorisation * self._n**3
        one_pass = self.tuning.cost.sample_access * self._m + self._rows.n_stored
        return (self._hessian_cost + n_steps * factorisation) / one_pass + n_steps

    @property
    def _hessian_cost(self):
        """The cost of summing a Hessian of all samples."""
        cost, n = self.tuning.cost, self._n
        of_sample = self._rows.n_stored / max(self._m, 1)
        dense = n * (cost.dense_square * n + cost.dense_linear)
        return self._m * min(of_sample * of_sample, dense) * cost.sparse_product

    @property
    def hessian_size(self):
        """The number of samples whose Hessian replaces the full Hessian; 0: the full Hessian is used.

        It is the number of samples whose Hessian can be summed in the time that reading all elements
        takes. Steps then converge linearly, and faster with more samples per weight. It is 0 for a loss
        with upper bounds, which has few free samples.

        **Source**: Roosta-Khorasani & Mahoney (2019), Sub-sampled Newton methods.
        """
        newton = self.tuning.newton
        if not self.problem.loss.is_smooth or self.problem.loss.has_upper_bounds:
            return 0
        size = int(self._m * min(self._rows.n_stored / self._hessian_cost, 1))
        is_enough = size >= newton.hessian_per_weight * self._n
        return size if is_enough and 2 * size <= self._m else 0

    @property
    def subsample_size(self):
        """The size of the subsample for the first Newton steps; 0 if a subsample does not pay.

        It does not pay for a smooth loss, which takes few steps in any case.
        """
        subsample, m = self.tuning.subsample, self._m
        if self.problem.loss.is_smooth or not self.has_small_hessian:
            return 0
        size = max(subsample.per_feature * self._d, subsample.min_size)
        return max(size, int(subsample.min_share * m)) if subsample.min_ratio * size <= m else 0

    @property
    def needs_passes(self):
        """True if passes over samples precede Newton steps, to identify the working set.

        If elements are few, they do not pay: one more step, if any, costs less.
        """
        if not self.problem.loss.is_smooth and self._d > self.tuning.newton.few_features:
            return True
        return not self.has_small_hessian or self.has_many_elements

    @property
    def n_first_accessed(self):
        """The number of samples that a pass before Newton steps accesses.

        It accesses all samples if the loss is not smooth, because steps on a smoothed loss also need to
        know which dual variables are free.
        """
        newton, m = self.tuning.newton, self._m
        if not self.problem.loss.is_smooth:
            return m
        return min(max(int(newton.accessed_share * m), newton.min_accessed), m)

    @property
    def conjugate_pays(self):
        """True if conjugate passes should be tried before Newton steps in any case."""
        return self.has_few_samples or not self.has_small_hessian

    @property
    def conjugate_may_pay(self):
        """True if conjugate passes may replace Newton steps."""
        return self.conjugate_pays or self.newton_passes >= self.tuning.conjugate.min_newton_passes

    @property
    def newton_work(self):
        """The work of Newton steps if pairs of samples are slow, in elements accessed."""
        passes = self.newton_passes
        if self.has_small_hessian:
            passes = max(passes, self._passes_of_steps(self.tuning.newton.steps_of_pairs))
        return passes * self._rows.n_stored + self.tuning.decomposition.overhead

    @property
    def pairs_pay(self):
        """True if moving pairs of samples over their inner products should cost less than Newton steps.

        There are many Newton steps if the loss is not smooth.
        """
        if not self.has_whole_matrix:
            return False
        n_pairs = self.tuning.decomposition.expected_pairs * self._m
        return (
            not self.problem.loss.is_smooth
            or n_pairs * self._m < self.newton_passes * self._rows.n_stored
        )

    @property
    def has_whole_matrix(self):
        """True if linear data have so few samples that all their inner products are computed."""
        return self.problem.gram is not None and self._m <= self.tuning.decomposition.whole

    @property
    def multiplies_densely(self):
        """True if kernel values of dense copies of rows cost less, as matrix products."""
        X = self.problem.data.rows.blocks.X
        return (
            sparse.issparse(X)
            and X.shape[0] * X.shape[1] <= self.tuning.decomposition.dense_ratio * X.nnz
        )

    @property
    def interior_point(self):
        """The expected work of interior-point steps, in stored elements accessed."""
        cost, tuning = self.tuning.cost, self.tuning.interior_point
        return tuning.steps * (cost.factorisation * self._m**3 + tuning.overhead)

    def predicted_passes(self, solver, eps):
        """Return the number of passes that a solver is expected to need."""
        if solver == "newton":
            return float(self.newton_passes + (1 if self.needs_passes else 0))
        if solver == "interior-point":
            return self.interior_point / (self._m * self._m)
        loss, prediction = self.problem.loss, self.tuning.prediction
        line = getattr(prediction, f"{solver}_bounded" if loss.has_upper_bounds else solver)
        gap = loss.required_gap(eps)
        return line.base + line.slope * max(math.log10(1 / gap), 0.0) if gap > 0 else math.inf


def is_small_hessian(n_weights, n_samples, has_nonzeros):
    """Return True if a Hessian has no more elements than X stores, because features are few."""
    return n_weights <= n_samples and has_nonzeros(n_weights**2)


def nonzeros_for_blocks(n_weights, n_samples, cost=TUNING.cost):
    """Return the minimum non-zeros for adding samples to a Hessian in dense blocks: int or inf."""
    if n_weights <= cost.min_block_features:
        return math.inf
    dense = n_weights * (cost.dense_square * n_weights + cost.dense_linear)
    return int(n_samples * math.sqrt(dense)) + 1


def rows_per_chunk(rows, tuning=TUNING.permutation):
    """Return the number of rows per chunk if rows are permuted in blocks; 1: not in blocks."""
    if rows.is_kernel or BYTES_PER_NONZERO * rows.n_stored < tuning.min_bytes:
        return 1
    bytes_per_row = BYTES_PER_NONZERO * rows.mean_nonzeros(tuning.sampled_rows)
    if bytes_per_row * rows.n_rows < tuning.min_bytes:
        return 1
    return min(max(int(tuning.chunk_bytes / bytes_per_row), 1), tuning.block_samples // 16)


def gram_pays(X, tuning=TUNING):
    """Return True if the Gram matrix replaces X, because samples are few and X is dense enough."""
    m, d = X.shape
    n_stored = X.nnz if sparse.issparse(X) else m * d
    gram = tuning.gram
    return gram.min_ratio * m * m <= n_stored and gram.min_density * m * d <= n_stored
