"""Every measured constant that determines a solver, a memory layout or the end of a phase.

The planner (`margins.solvers.auto`) and the solvers read them here. Sizes are counts and costs are in
accesses of one stored element of X, so that none depends on a machine; docs/tuning.md has the
measurements.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CostTuning:
    """Costs, in accesses of one stored element."""

    sample_access: float = 30 / 0.7  # cost of processing a sample, in addition to that of its elements
    # sparse_product, dense_square, dense_linear: adding y y^T to a dense Hessian costs ``sparse_product
    # * s^2`` for s non-zeros, or, in blocks of dense samples with n features, ``sparse_product * n *
    # (dense_square * n + dense_linear)``
    sparse_product: float = 1 / 3 / 0.7
    dense_square: float = 1 / 45
    dense_linear: float = 6.0
    # dense blocks are used for more features than this: shorter rows do not fill them
    min_block_features: int = 16
    # a Cholesky factorisation of n features costs ``factorisation * n^3``
    factorisation: float = 1 / 90 / 0.7


@dataclass(frozen=True)
class GramTuning:
    """When the Gram matrix replaces X."""

    min_ratio: float = 8  # X must store at least ``min_ratio * n_samples^2`` elements
    min_density: float = 0.2  # the minimum share of the elements of X that are stored
    # with eps at least this, inner products are computed in single precision
    single_precision_eps: float = 1e-4


@dataclass(frozen=True)
class NewtonTuning:
    """When Newton steps run, and when an epoch of them ends."""

    first_factor: float = 2.0  # with a smoothed loss, the first multiple of its curvature
    gap_share: float = 0.9  # an epoch ends when its gap is at most this share of the required gap,
    # or, with a smoothed loss, at most this share of the gap at its beginning
    epoch_reduction: float = 0.01
    # up to so many stored elements, neither `epoch_reduction` nor an initial phase of rules is used
    few_elements: int = 20_000
    # up to `few_elements` and so many features, a smoothed loss needs no initial phase of rules
    few_features: int = 8
    max_steps: int = 50  # maximum number of Newton steps in an epoch
    # the certificate is computed if the gap after an epoch is at most this multiple of the required one
    check_ratio: float = 2.0
    # an epoch over a working set is repeated over all samples if it has multiplied the objective over
    # all samples by more than this, and changed margins by more than the last epoch
    max_objective_ratio: float = 1.25
    patience: int = 10  # the solver stops after so many successive epochs without a smaller gap
    few_samples: float = 3.0  # there are few samples if ``n_samples <= few_samples * n_features``
    # a smoothed loss starts at the scale of the dual variables if the best multiple of the weight vector
    # is less than this share of it
    zero_scale: float = 0.1
    # steps, steps_of_few, steps_of_pairs: expected number of Newton steps; with few samples; where moves
    # of pairs of samples could not prove the accuracy in less
    steps: int = 3
    steps_of_few: int = 50
    steps_of_pairs: int = 30
    # product_passes, product_passes_smoothed: expected number of passes over all samples for steps by
    # Hessian-vector products; with a smoothed loss
    product_passes: int = 100
    product_passes_smoothed: int = 300
    max_product_ratio: int = 3  # such steps end after this multiple of the expected passes
    # accessed_share, min_accessed: the initial phase before Newton steps on a smooth loss processes this
    # share of the samples, and at least so many
    accessed_share: float = 1 / 8
    min_accessed: int = 2000
    # the first step starts from the mean of so many late weight vectors of the initial phase
    averaged_iterates: int = 16
    # hessian_per_weight, hessian_steps: a Hessian of a part of the samples has at least so many for each
    # weight, and serves for so many steps
    hessian_per_weight: int = 500
    hessian_steps: int = 5
    # along C, the first working set leaves out samples whose margin differs from 1 by more than this
    # multiple of what the last fit has changed margins by
    start_band: float = 0.1
    # near_gap, near_epochs: with a smoothed loss, the initial phase gets `near_epochs` more epochs if
    # its gap is at most `near_gap` times eps
    near_gap: float = 60.0
    near_epochs: int = 3
    # features are measured from their mean if its squared length is this multiple of their mean squared
    # distance from it
    offset: float = 100.0


@dataclass(frozen=True)
class SubsampleTuning:
    """When Newton steps on a smoothed loss start on a subsample."""

    # per_feature, min_size, min_share: the subsample has at least so many samples per feature, so many
    # samples, and this share of them
    per_feature: int = 100
    min_size: int = 2000
    min_share: float = 1 / 64
    # a subsample is used if there are at least so many times as many samples as it must have
    min_ratio: float = 16
    # the first multiple of the curvature: at w = 0 every dual variable is free
    first_factor: float = 0.25
    # steps on the subsample end at this relative gap, or at the required one if that is larger
    gap: float = 1e-3
    max_steps: int = 20  # a subsample that needs more steps is rejected,
    # and so is one for which the objective over all samples exceeds this multiple of its own
    max_objective_ratio: float = 1.25


@dataclass(frozen=True)
class PartitionTuning:
    """Fits of samples in partitions."""

    min_mapped_bytes: int = 1 << 28  # a memory map of more bytes is read in chunks
    # subsample_share, subsample_bytes: the subsample that steps start from has at least this share of
    # the samples, but at most so many bytes
    subsample_share: float = 1 / 16
    subsample_bytes: int = 1 << 26
    subsample_steps: int = 100  # maximum number of steps over the subsample
    # at first, it is smoothed less if smoothing causes more than this share of the required gap
    smoothing_share: float = 0.5
    # where Hessians are not stored, each process keeps at most so many bytes of free samples
    kept_bytes: int = 1 << 28
    # problems are trained together as long as each process keeps at most so many bytes for them
    state_bytes: int = 1 << 29
    active_bytes: int = 1 << 28  # of rows of an active set, at most so many bytes are copied
    # of active samples whose rows are not copied, this share is expected to have the loss of the others,
    estimated_share: float = 0.9
    epochs_per_check: int = 5  # but of so many epochs one ends with a certificate in any case
    growth: float = 2.0  # a smoothed loss is smoothed less by this factor
    # a step of full length is accepted if at its end the slope, or the squared norm of the gradient, is
    # at most this share of the one at its beginning
    step_reduction: float = 0.5
    patience: int = 50  # steps end after so many steps in a row that have not reduced the gap
    # residual, max_products: conjugate gradients end at this relative residual, and after so many
    # products
    residual: float = 0.1
    max_products: int = 100


@dataclass(frozen=True)
class ConjugateTuning:
    """When conjugate passes run, and when an epoch of them ends."""

    max_passes: int = 30  # maximum number of passes over the working set in an epoch
    # an epoch ends when the gap that a pass estimates is less than this share of that of its first one
    epoch_reduction: float = 0.4
    # if an epoch reduces the gap only to more than this share, the target of the next ones is halved
    slow_reduction: float = 0.8
    restart: int = 20  # the search directions restart after so many passes
    # the certificate is computed if the estimated gap is at most this multiple of the required one,
    check_ratio: float = 2.0
    epochs_per_check: int = 4  # and at least every so many epochs
    # if more than this share of the samples is in the working set, it is extended to all of them
    full_set_share: float = 0.9
    # an intercept that is not penalised moves at most so many times as far as it last did, or as far as
    # a proximal step would move it
    max_intercept_step: float = 100.0
    # conjugate passes before Newton steps on a small Hessian are tried if the gap after the initial
    # phase is at most this multiple of the dual objective,
    max_relative_gap: float = 3.0
    min_newton_passes: float = 6.3  # and Newton steps are expected to cost more passes than this


@dataclass(frozen=True)
class HardMarginTuning:
    """The soft margins whose limit is a hard one: their C, times the squared radius of the samples."""

    first_ratio: float = 1e4
    growth: float = 1e3  # from one to the next
    last_ratio: float = 1e18
    refinements: int = 3  # how often two more are tried, on either side of the best one
    eps_share: float = 0.3  # of the accuracy to be proven: that of each of them
    # no hyperplane separates classes if none has a margin of more than this share of the radius
    separable: float = 1e-10
    separable_at_end: float = 1e-5  # the same, where no C has separated them


@dataclass(frozen=True)
class DecompositionTuning:
    """When subproblems of a kernel problem end, and an epoch of them."""

    working_set: int = 512  # samples of a subproblem
    # whole, shared_whole: of so many samples at most the whole matrix is computed, and of a pair of
    # classes, whose blocks other pairs read too
    whole: int = 512
    shared_whole: int = 1024
    # of linear data with a smooth loss, the expected number of pairs that move, for each sample
    expected_pairs: float = 0.85
    kept_share: float = 0.5  # at most this share of them are from the last one
    # the expected gain of a sample whose row is cached is multiplied by this in the choice
    cached_gain: float = 3.0
    # at most rows of this share of the samples are computed for a working set ...
    new_share: float = 0.0625
    # ... and at most so many where another class has computed some before
    new_rows: int = 64
    # a subproblem ends when no step decreases its objective by more than this share of the first one
    inner_reduction: float = 1e-3
    overhead: float = 3e5  # the cost of a subproblem, in accesses of an element, beside those it counts
    max_pairs: int = 100  # or after so many pairs for each of its samples
    # products are computed in double precision when the gap is this share of the required one
    gap_share: float = 0.8
    # slow_reduction, patience: the solver ends after so many of these in a row that have not reduced the
    # gap to this share
    slow_reduction: float = 0.9
    patience: int = 5
    # rows of sparse data are made dense if there are at most so many features for each stored element
    dense_ratio: float = 20.0


@dataclass(frozen=True)
class InteriorPointTuning:
    """When an interior-point method factors the kernel matrix, and when it ends."""

    max_samples: int = 2000  # a step of so many takes about a tenth of a second, and is not interrupted
    # steps, overhead: the expected number of steps, and the cost of each beside its factorisation
    steps: int = 30
    overhead: float = 3e5
    # slow_reduction, patience: it ends after so many steps in a row that have reduced neither the gap to
    # this share, nor mu where it is large; the first ones may move towards the middle of the bounds
    slow_reduction: float = 0.9
    patience: int = 20
    max_steps: int = 150  # it also ends after so many
    # after the proof, at most so many steps move more dual variables to 0
    proven_steps: int = 8


@dataclass(frozen=True)
class UnlearningTuning:
    """Default parameters of the rules of unlearning."""

    delta_b: float = 3.0  # width of the interval of thresholds without updates, in units of R^2
    # with bounded dual variables, the accuracy that the initial b guarantees, in units of eps
    bounded_accuracy_ratio: float = 0.01
    finest_accuracy: float = 1e-12  # the smallest accuracy from which b is computed


@dataclass(frozen=True)
class PredictedPasses:
    """The number of passes over the samples that a solver is expected to need, for `explain`.

    ``base + slope * log10(1 / gap)``, where gap is the required relative duality gap.
    """

    base: float
    slope: float


@dataclass(frozen=True)
class PredictionTuning:
    """Predicted passes of solvers that process one sample at a time.

    Fitted by scripts/benchmarks/predicted_passes.py; predictions are rough, see docs/tuning.md.
    """

    decomposition: PredictedPasses = PredictedPasses(1.8, 1.0)
    decomposition_bounded: PredictedPasses = PredictedPasses(2.2, 0.3)
    conjugate: PredictedPasses = PredictedPasses(4.0, 3.4)
    conjugate_bounded: PredictedPasses = PredictedPasses(4.3, 3.8)
    unlearning: PredictedPasses = PredictedPasses(9.1, 6.3)
    unlearning_bounded: PredictedPasses = PredictedPasses(0.4, 12.3)
    dcd: PredictedPasses = PredictedPasses(12.7, 7.7)
    dcd_bounded: PredictedPasses = PredictedPasses(3.1, 11.8)


@dataclass(frozen=True)
class PermutationTuning:
    """When samples are permuted in blocks."""

    min_bytes: int = 1 << 24  # the minimum size of the data, larger than a cache
    chunk_bytes: int = 1 << 13  # the size of the consecutive rows in a chunk
    block_samples: int = 1 << 12  # the number of samples, from many chunks, that are permuted together
    # the number of rows whose non-zeros are counted: a count of all takes a tenth of some fits
    sampled_rows: int = 4096


@dataclass(frozen=True)
class DriverTuning:
    """The driver's tolerances."""

    # rounding errors of a weight vector are corrected before they may exceed this share of the required
    # gap
    negligible_rounding: float = 1e-4


@dataclass(frozen=True)
class Tuning:
    """All constants, by the part of the library that reads them."""

    cost: CostTuning = field(default_factory=CostTuning)
    gram: GramTuning = field(default_factory=GramTuning)
    newton: NewtonTuning = field(default_factory=NewtonTuning)
    subsample: SubsampleTuning = field(default_factory=SubsampleTuning)
    partitions: PartitionTuning = field(default_factory=PartitionTuning)
    conjugate: ConjugateTuning = field(default_factory=ConjugateTuning)
    hard_margin: HardMarginTuning = field(default_factory=HardMarginTuning)
    interior_point: InteriorPointTuning = field(default_factory=InteriorPointTuning)
    decomposition: DecompositionTuning = field(default_factory=DecompositionTuning)
    unlearning: UnlearningTuning = field(default_factory=UnlearningTuning)
    prediction: PredictionTuning = field(default_factory=PredictionTuning)
    permutation: PermutationTuning = field(default_factory=PermutationTuning)
    driver: DriverTuning = field(default_factory=DriverTuning)


TUNING = Tuning()
