"""All measured constants that decide on a solver, a memory layout or the end of a phase.

Sizes are counts, and costs are in accesses of one stored element of X, so no constant depends on a
machine. docs/tuning.md has the measurements.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CostTuning:
    """Costs, in accesses of one stored element."""

    sample_access: float = 30 / 0.7  # cost of processing a sample, in addition to its elements
    # sparse_product, dense_square, dense_linear: adding y y^T to a dense Hessian costs
    # ``sparse_product * s^2`` for s non-zeros or, in blocks of dense samples with n features,
    # ``sparse_product * n * (dense_square * n + dense_linear)``
    sparse_product: float = 1 / 3 / 0.7
    dense_square: float = 1 / 45
    dense_linear: float = 6.0
    # dense blocks need more features than this: shorter rows do not fill them
    min_block_features: int = 16
    factorisation: float = 1 / 90 / 0.7  # a Cholesky factorisation costs this, times n^3 for n features


@dataclass(frozen=True)
class GramTuning:
    """Conditions under which the Gram matrix replaces X."""

    min_ratio: float = 8  # X must store at least ``min_ratio * n_samples^2`` elements
    min_density: float = 0.2  # minimum share of the elements of X that are stored
    single_precision_eps: float = 1e-4  # with at least this eps, products are in single precision
    # Problems of all samples share inner products if there are so many of them, so many elements, and at
    # most so many samples: in all, for each problem and for each feature, the last number for the hinge
    # loss with a penalised intercept, whose pairs move more often.
    min_problems: int = 3
    min_elements: int = 20_000
    max_samples: int = 2048
    samples_per_problem: int = 256
    samples_per_feature: float = 8.0
    samples_per_feature_penalised: float = 5.0


@dataclass(frozen=True)
class NewtonTuning:
    """Conditions under which Newton steps run, and under which their epochs end."""

    first_factor: float = 2.0  # first multiple of the curvature of a smoothed loss
    gap_share: float = 0.9  # an epoch ends when its gap is at most this share of the required gap
    epoch_reduction: float = 0.01  # or, with a smoothed loss, this share of the gap at its start
    # up to this many stored elements, neither `epoch_reduction` nor a rule-based first phase is used
    few_elements: int = 20_000
    # up to `few_elements` and this many features, a smoothed loss needs no rule-based first phase
    few_features: int = 8
    max_steps: int = 50  # maximum number of Newton steps in an epoch
    check_ratio: float = 2.0  # gap after an epoch, in required gaps, up to which it is certified
    # an epoch over a working set is repeated over all samples if it increased the objective over all
    # samples by more than this factor, and changed margins by more than the last epoch
    max_objective_ratio: float = 1.25
    patience: int = 10  # the solver stops after this many epochs in a row without a smaller gap
    few_samples: float = 3.0  # samples are few if ``n_samples <= few_samples * n_features``
    # a smoothed loss starts at the scale of the dual variables if the best multiple of the weight vector
    # is less than this share of the weight vector
    zero_scale: float = 0.1
    # steps, steps_of_few, steps_of_pairs: expected number of Newton steps; with few samples; if moves of
    # pairs of samples could not prove the accuracy with less work
    steps: int = 3
    steps_of_few: int = 50
    steps_of_pairs: int = 30
    # product_passes, product_passes_smoothed: expected number of passes over all samples for steps with
    # Hessian-vector products; with a smoothed loss
    product_passes: int = 100
    product_passes_smoothed: int = 300
    max_product_ratio: int = 3  # such steps end after this multiple of the expected passes
    # accessed_share, min_accessed: the first phase before Newton steps on a smooth loss processes this
    # share of the samples, and at least this many
    accessed_share: float = 1 / 8
    min_accessed: int = 2000
    averaged_iterates: int = 16  # the first step starts from the mean of this many late iterates
    # along C, the first working set leaves out samples whose margin differs from 1 by more than this
    # multiple of the change of margins in the last fit
    start_band: float = 0.1
    # near_gap, near_epochs: with a smoothed loss, the first phase gets `near_epochs` more epochs if its
    # gap is at most `near_gap` times eps
    near_gap: float = 60.0
    near_epochs: int = 3
    # features are centred if the squared length of their mean is this multiple of their mean squared
    # distance from it
    offset: float = 100.0


@dataclass(frozen=True)
class SubsampleTuning:
    """Conditions under which Newton steps start on a subsample."""

    # per_feature, min_size, min_share: minimum size of the subsample, per feature, as a number, and as a
    # share of the samples
    per_feature: int = 100
    min_size: int = 2000
    min_share: float = 1 / 8
    # a subsample is used if the samples are at least this many times its minimum size
    min_ratio: float = 16
    # per_weight, min_share_of_smooth, min_ratio_of_smooth: the same for a smooth loss, whose next steps
    # use the Hessian of the subsample
    per_weight: int = 500
    min_share_of_smooth: float = 1 / 32
    min_ratio_of_smooth: float = 8
    # steps are over a part of the subsample, and then over parts this many times as large
    growth: int = 4
    # lack_share, max_block_steps: steps over the subsample's dual variables end at this share of the gap
    # required, or after this many
    lack_share: float = 0.1
    max_block_steps: int = 5
    max_lack: float = 0.5  # share of the gap; if more is left, steps use the Hessian of all samples
    # the first working set leaves out samples whose margin differs from 1 by more than this multiple of
    # its mean change from the last part of the subsample to the whole
    band: float = 2.0
    gap_share: float = 0.3  # an epoch over a working set ends at this share of the required gap
    first_factor: float = 0.25  # first multiple of the curvature: at w = 0 every dual variable is free
    # steps on the subsample end at this relative gap, or at the required gap if that is larger
    gap: float = 1e-3
    gap_of_part: float = 1e-2  # the same for parts of the subsample
    max_steps: int = 20  # a subsample that needs more steps is rejected
    max_objective_ratio: float = 1.25  # as is one whose objective grows by more over all samples


@dataclass(frozen=True)
class PartitionTuning:
    """Constants of fits to samples in partitions."""

    min_mapped_bytes: int = 1 << 28  # a memory map of more bytes is read in chunks
    # subsample_share, subsample_bytes: the subsample for the start has at least this share of the
    # samples, but at most this many bytes
    subsample_share: float = 1 / 16
    subsample_bytes: int = 1 << 26
    subsample_steps: int = 100  # maximum number of steps over the subsample
    smoothing_share: float = 0.5  # share of the required gap that smoothing may cause at the start
    kept_bytes: int = 1 << 28  # of free samples that each process keeps without stored Hessians
    state_bytes: int = 1 << 29  # that each process keeps for the problems that are trained together
    active_bytes: int = 1 << 28  # at most this many bytes of rows of an active set are copied
    # active samples whose rows are not copied are expected to have this share of the loss of the others
    estimated_share: float = 0.9
    epochs_per_check: int = 5  # but every this many epochs, one ends with a certificate in any case
    growth: float = 2.0  # factor by which a smoothed loss is smoothed less
    # a step of full length is accepted if the slope at its end, or the squared norm of the gradient, is
    # at most this share of its value at the start
    step_reduction: float = 0.5
    patience: int = 50  # steps end after this many steps in a row that do not reduce the gap
    residual: float = 0.1  # relative residual at which conjugate gradients end
    max_products: int = 100  # products after which they end


@dataclass(frozen=True)
class ConjugateTuning:
    """Conditions under which conjugate passes run, and under which their epochs end."""

    max_passes: int = 30  # maximum number of passes over the working set in an epoch
    epoch_reduction: float = 0.4  # share of the gap of its first pass at which an epoch ends
    slow_reduction: float = 0.8  # share of the gap; if more is left, the next epoch's target is halved
    restart: int = 20  # search directions restart after this many passes
    # after another solver, passes end if this many certificates in a row have no smaller gap than it had
    patience: int = 20
    check_ratio: float = 2.0  # estimated gap, in required gaps, up to which an epoch is certified
    epochs_per_check: int = 4  # and at least once in this many epochs
    light_work: float = 3e7  # elements that they access in the time of importing SciPy
    full_set_share: float = 0.9  # a working set of a larger share is extended to all samples
    # longest move of a free intercept, in multiples of its last move or of a proximal step
    max_intercept_step: float = 100.0
    # before Newton steps on a small Hessian, conjugate passes are tried if the gap after the first phase
    # is at most this multiple of the dual objective
    max_relative_gap: float = 3.0
    min_newton_passes: float = 6.3  # and Newton steps are expected to cost more passes than this


@dataclass(frozen=True)
class HardMarginTuning:
    """Constants of the soft margins whose limit is a hard margin; C is times the squared radius."""

    first_ratio: float = 1e4
    growth: float = 1e3  # factor from one C to the next
    last_ratio: float = 1e18
    refinements: int = 3  # number of times that two more C are tried, one on either side of the best
    eps_share: float = 0.3  # accuracy of each soft margin, as a share of the required accuracy
    separable: float = 1e-10  # share of the radius that no margin exceeds if classes are inseparable
    separable_at_end: float = 1e-5  # the same, if no C has separated the classes


@dataclass(frozen=True)
class DecompositionTuning:
    """Conditions under which subproblems of a kernel problem, and their epochs, end."""

    working_set: int = 512  # samples of a subproblem
    # whole, shared_whole: the whole matrix is computed for at most this many samples; the second for a
    # pair of classes, because other pairs also read its blocks
    whole: int = 512
    shared_whole: int = 1024
    expected_pairs: float = 0.85  # that move per sample, for linear data with a smooth loss
    kept_share: float = 0.5  # at most this share of a working set is from the last working set
    cached_gain: float = 3.0  # factor of the expected gain of samples whose rows are cached
    new_share: float = 0.0625  # share of the samples whose rows are computed for one working set
    new_rows: int = 64  # or at most this many rows, if another class has already computed rows
    inner_reduction: float = 1e-3  # share of the first step's gain at which a subproblem ends
    overhead: float = 3e5  # cost of a subproblem, in accesses of an element, beyond those it counts
    max_pairs: int = 100  # a subproblem also ends after this many pairs per sample
    too_slow: float = 1.5  # or if its rounds would have to be this many times those that are left
    gap_share: float = 0.8  # share of the required gap at which products are summed in double precision
    # slow_reduction, patience: the solver ends after `patience` such sums in a row that do not reduce
    # the gap to this share
    slow_reduction: float = 0.9
    patience: int = 5
    dense_ratio: float = 20.0  # features per stored element up to which sparse rows are made dense


@dataclass(frozen=True)
class InteriorPointTuning:
    """Conditions under which an interior-point method factors the kernel matrix, and when it ends."""

    max_samples: int = 2000  # a step then takes about a tenth of a second, and is not interrupted
    # steps, overhead: expected number of steps, and cost of each in addition to its factorisation
    steps: int = 30
    overhead: float = 3e5
    # slow_reduction, patience: the method ends after `patience` steps in a row that reduce neither the
    # gap to this share, nor mu where it is large; first steps may move towards the middle of the bounds
    slow_reduction: float = 0.9
    patience: int = 20
    max_steps: int = 150  # it also ends after this many steps
    proven_steps: int = 8  # maximum number of steps after the proof, for more dual variables at 0


@dataclass(frozen=True)
class UnlearningTuning:
    """Default parameters of the unlearning rules."""

    delta_b: float = 3.0  # width of the interval of thresholds without updates, in units of R^2
    bounded_accuracy_ratio: float = 0.01  # accuracy of the first b with bounds, in units of eps
    finest_accuracy: float = 1e-12  # the smallest accuracy from which b is computed


@dataclass(frozen=True)
class PredictedPasses:
    """The expected passes of a solver: ``base + slope * log10(1 / gap)``, gap the required one."""

    base: float
    slope: float


@dataclass(frozen=True)
class PredictionTuning:
    """The expected passes of solvers that process one sample at a time.

    scripts/benchmarks/predicted_passes.py fits them; they are rough, see docs/tuning.md.
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
    """Conditions under which samples are permuted in blocks."""

    min_bytes: int = 1 << 24  # minimum size of the data, larger than a cache
    chunk_bytes: int = 1 << 13  # size of the consecutive rows in a chunk
    block_samples: int = 1 << 12  # number of samples, from many chunks, that are permuted together
    sampled_rows: int = 4096  # rows whose non-zeros are counted: all take a tenth of some fits


@dataclass(frozen=True)
class DriverTuning:
    """Tolerances of the driver."""

    negligible_rounding: float = 1e-4  # share of the required gap that rounding errors may reach


@dataclass(frozen=True)
class ProximalTuning:
    """Newton steps with a regulariser."""

    # max_curvature: passes over samples come first if C |x|^2 of the mean sample, relative to the ridge,
    # is at most this; max_curvature_of_few: the same if features are few; max_passes: passes end as soon
    # as the proof seems to need more
    max_curvature: float = 1.0
    max_curvature_of_few: float = 5.0
    max_passes: int = 10
    tolerance: float = 0.01  # a sweep that gains this share of all gains of a step ends it
    max_sweeps: int = 200
    # after more than so many sweeps that leave a face as it is, there is a step on it; over many
    # columns, it costs more
    max_sweeps_of_face: int = 8
    max_sweeps_of_columns: int = 30
    # first_divisor, next_divisor: by what C is divided in the first step, as a share of that at which no
    # weight moves, and in each of the next ones, as a share of the last
    first_divisor: float = 0.2
    next_divisor: float = 0.3
    # a smoothed problem that is not solved after so many steps is smoothed more
    max_steps_of_smoothing: int = 8
    # the solver stops after this many steps, or smoothed problems, in a row without a smaller gap
    patience: int = 20
    # a step is over at most so many weights, or twice as many as are not at the centre of r
    min_candidates: int = 200


@dataclass(frozen=True)
class Tuning:
    """All constants, by the part of the library that reads them."""

    cost: CostTuning = field(default_factory=CostTuning)
    gram: GramTuning = field(default_factory=GramTuning)
    newton: NewtonTuning = field(default_factory=NewtonTuning)
    proximal: ProximalTuning = field(default_factory=ProximalTuning)
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
