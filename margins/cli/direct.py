"""Training that begins at once: `margins train` of a linear `MarginClassifier`, on NumPy alone.

SciPy, scikit-learn and skops take longer to import than data of some megabytes take to train on. So
where the options are of the usual kind and the data are in svmlight's format, arrays go from the reader
to the solver, and the model file is written in skops' format, without them. The problem, the certificate
and the model file are those of `margins.MarginClassifier`. The solver is that of conjugate passes, which
needs NumPy only, and which the planner chooses for sparse data of many features; of other small data,
Newton steps would save less than the import that they need.
"""

import math
import os
from types import SimpleNamespace

# The parameters of `margins.MarginClassifier` and their defaults.
DEFAULTS = {
    "C": 1.0,
    "fit_intercept": True,
    "intercept_scaling": 1.0,
    "class_weight": None,
    "max_iter": 1000,
    "max_time": None,
    "random_state": None,
    "n_jobs": None,
    "verbose": 0,
    "kernel": "linear",
    "degree": 3,
    "gamma": "scale",
    "coef0": 0.0,
    "cache_size": 200.0,
    "warm_start": False,
    "loss": "squared_hinge",
    "eps": 0.01,
    "solver": "auto",
    "penalize_intercept": True,
}
# Values of them that are trained directly; of anything else the classifier says what is allowed.
ALLOWED = {
    "C": lambda C: _is_number(C) and 1e-9 <= C <= 1e9,
    "eps": lambda eps: _is_number(eps) and 1e-6 <= eps <= 1,
    "loss": lambda loss: loss in ("squared_hinge", "hinge"),
    "kernel": lambda kernel: kernel == "linear",
    "max_iter": lambda n: type(n) is int and n >= 1,
    "random_state": lambda seed: type(seed) is int and 0 <= seed < 2**32,
    "fit_intercept": lambda flag: type(flag) is bool,
    "solver": lambda solver: solver in ("auto", "conjugate"),
}
# Elements of X beyond which the import of other solvers takes a small share of the time, and the planner
# chooses; not if it would choose the same.
MOST_ELEMENTS = 4_000_000


def _is_number(value):
    return type(value) in (int, float)


def serves(source, name, parameters):
    """True if samples and parameters are of the usual kind, so that `fitted` may be called.

    Parameters
    ----------
    source : margins.cli.samples.Source
    name : str
        Of the algorithm.
    parameters : dict
    """
    is_usual = all(key in ALLOWED and ALLOWED[key](value) for key, value in parameters.items())
    return name == "auto" and is_usual and not source.is_table


def read(source):
    """The samples of a usual fit, read as its first step: margins.data.svmlight.CsrArrays."""
    # No BLAS is called; to create its threads takes a quarter of the time of small fits.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from margins.cli.samples import read_arrays

    return read_arrays(source, to_train=True)


def fitted(arrays, parameters, show=None):
    """Train as `margins.MarginClassifier` does, without importing it.

    Parameters
    ----------
    arrays : margins.data.svmlight.CsrArrays
    parameters : dict
        Those that `serves` allows.
    show : callable, optional
        Called with each line of progress.

    Returns
    -------
    DirectModel or None
        None: the classifier itself is to be used, for large data, for its errors, and where the accuracy
        was not proven.
    """
    import numpy as np

    from margins._sparse import Rows, all_ones
    from margins.data.binary_data import augmented_sqnorms, make_binary_data
    from margins.losses import LOSSES
    from margins.solvers.conjugate import ConjugateSolver
    from margins.solvers.driver import Run
    from margins.solvers.options import RunOptions
    from margins.solvers.plans import PhaseBuilder, Plan
    from margins.tuning import TUNING

    if len(arrays.values) > MOST_ELEMENTS and parameters.get("solver") != "conjugate":
        return None
    parameters = {**DEFAULTS, **parameters}
    classes, codes = np.unique(arrays.labels, return_inverse=True)
    (m, d), n_classes = arrays.shape, len(classes)
    if n_classes < 2 or d == 0:
        return None  # an error, of which the classifier informs
    values = None if all_ones(arrays.values) else arrays.values
    rows = Rows(values, m, d, arrays.columns, arrays.starts)
    sqrho = 1.0 if parameters["fit_intercept"] else 0.0
    sqnorms = augmented_sqnorms(rows.sqnorms(), sqrho, False, False)
    eps, C = float(parameters["eps"]), float(parameters["C"])
    loss = LOSSES[parameters["loss"]](C)
    options = RunOptions(eps=eps, max_iter=parameters["max_iter"], keep_dual=True)
    phase = PhaseBuilder(eps, C, TUNING)
    positives = [1] if n_classes == 2 else range(n_classes)
    seed = parameters["random_state"]
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=len(positives)).tolist()
    runs = []
    for code, seed_of_run in zip(positives, seeds, strict=True):
        data = make_binary_data(rows, sqnorms, codes == code, sqrho, loss.diag, math.inf)
        report = None
        if show is not None:
            which = "" if n_classes == 2 else f"class {classes[code]}: "
            report = _reporter(show, which)
        run = Run(data, loss, seed_of_run, options._replace(report=report))
        if ConjugateSolver.why_not(run.problem) is not None:
            return None
        run.train(Plan(lambda: [phase.conjugate()], "it needs NumPy only").phases_of(run))
        if not run.converged:
            return None
        runs.append(run)
    return DirectModel(parameters, classes, d, runs)


def _reporter(show, which):
    return lambda line: show(which + line)


class DirectModel:
    """A fitted `MarginClassifier`, as its attributes.

    It has what `margins.cli.training.Model` has.

    Parameters
    ----------
    parameters : dict
    classes : ndarray, shape (n_classes,)
    d : int
        Number of features.
    runs : list of margins.solvers.driver.Run
    """

    def __init__(self, parameters, classes, d, runs):
        attributes = {**parameters, "n_features_in_": d, "classes_": classes, **_attributes(runs)}
        self.classifier, self.messages = SimpleNamespace(**attributes), []

    def contents(self):
        """The contents of the model file: bytes."""
        from margins.cli.model_file import Instance, written

        kernel = Instance("margins.kernels.functions.linear", "Linear", None)
        attributes = dict(vars(self.classifier), kernel_=kernel)
        model = Instance("margins.estimators.margin_classifier", "MarginClassifier", attributes)
        return written(model)


def _attributes(runs):
    """The attributes that a fit sets, as `margins.estimators.fitted` does: dict."""
    import numpy as np

    from margins.solvers.base import solver_path

    models = [(run, run.hypothesis, run.primal_scale) for run in runs]
    phases = [run.phases for run in runs]
    return {
        "intercept_": np.array(
            [scale * (run.data.sqrho * model.label_sum - run.theta) for run, model, scale in models]
        ),
        "coef_": np.array([scale * model.weights for _, model, scale in models]),
        "dual_coef_": np.array([run.dual_scale * model.dual for run, model, _ in models]),
        "certificates_": [run.certificate for run in runs],
        "learning_curve_": [run.history for run in runs],
        "phases_": phases,
        "n_iter_": max(run.n_epochs for run in runs),
        "n_updates_": sum(run.certificate.n_updates for run in runs),
        "n_accesses_": sum(run.n_accesses for run in runs),
        "converged_": True,
        "_n_samples": len(runs[0].data),
        "solver_": ", ".join(dict.fromkeys(map(solver_path, phases))),
    }
