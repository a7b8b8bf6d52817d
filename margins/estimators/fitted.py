"""The fitted attributes of classifiers, collected from the runs of their binary problems."""

import numpy as np

from margins.kernels import LINEAR
from margins.solvers.base import solver_path

# Attributes that some fits set and others do not.
NOT_ALWAYS_SET = (
    "coef_",
    "intercept_",
    "dual_coef_",
    "support_",
    "support_vectors_",
    "mistakes_",
    "votes_",
)


class FittedAttributes:
    """Sets and deletes the fitted attributes of a classifier."""

    # The factor from the hypothesis of a run to a row of `coef_`; None: the one of least objective.
    _model_scale: float | None = None

    def _scale(self, run):
        """The factor from the hypothesis of a run or a stream to a row of `coef_`."""
        return run.primal_scale if self._model_scale is None else self._model_scale

    def _forget(self):
        """Delete fitted attributes that the next fit may not set."""
        attributes = vars(self)
        for name in NOT_ALWAYS_SET:
            attributes.pop(name, None)

    def _collect(self, runs, samples):
        """Set the fitted attributes."""
        self._collect_model(runs, samples)
        self.certificates_, self.learning_curve_, self.phases_ = [], [], []
        self.n_iter_ = self.n_updates_ = self.n_accesses_ = 0
        self.converged_ = True
        for run in runs:
            self.certificates_.append(run.certificate)
            self.learning_curve_.append(run.history)
            self.phases_.append(run.phases)
            self.n_iter_ = max(self.n_iter_, run.n_epochs)
            self.n_updates_ += run.certificate.n_updates
            self.n_accesses_ += run.n_accesses
            self.converged_ = self.converged_ and run.converged
        # The paths of all binary problems, each once.
        self.solver_ = ", ".join(dict.fromkeys(map(solver_path, self.phases_)))

    def _collect_model(self, runs, samples):
        """Set the fitted attributes that predictions use."""
        models = [(run, run.hypothesis, self._scale(run)) for run in runs]
        self.intercept_ = np.array(
            [scale * (run.data.sqrho * model.label_sum - run.theta) for run, model, scale in models]
        )
        if self.kernel_ != LINEAR:
            signed = np.stack([scale * run.data.signs * model.dual for run, model, scale in models])
            support = np.flatnonzero(signed.any(axis=0))
            self.dual_coef_ = signed[:, support]
            self._set_support(samples, support)
            return
        self.coef_ = np.array([scale * model.weights for _, model, scale in models])
        if runs[0].keep_dual and self._leaves_dual:
            dual = np.array([run.dual_scale * model.dual for run, model, _ in models])
            self.dual_coef_ = _of_all_samples(dual, samples)

    def _set_support(self, samples, support):
        """Set the support to those of the samples."""
        self.support_ = samples.kept[support]
        self.support_vectors_ = samples.X[:0, :0] if self._is_precomputed else samples.X[support]


def _of_all_samples(dual, samples):
    """Dual variables of the samples kept, filled with 0: ndarray of float64, (n_problems, n_samples)."""
    if len(samples.kept) == samples.n_samples:  # indices take longer than a Newton step of a small fit
        return dual
    filled = np.zeros((len(dual), samples.n_samples))
    filled[:, samples.kept] = dual
    return filled
