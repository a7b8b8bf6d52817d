"""The fitted attributes of classifiers, collected from the runs of their binary problems."""

import numpy as np

from margins.kernels import LINEAR
from margins.solvers.base import solver_path


class FittedAttributes:
    """Sets and deletes the fitted attributes of a classifier."""

    def _scale(self, run):
        """The factor from a hypothesis to a row of `coef_`."""
        return run.primal_scale

    def _forget(self):
        """Delete fitted attributes that the next fit may not set."""
        for name in (
            "coef_",
            "intercept_",
            "dual_coef_",
            "support_",
            "support_vectors_",
            "mistakes_",
            "votes_",
        ):
            self.__dict__.pop(name, None)

    def _collect(self, runs, samples):
        """Set the fitted attributes."""
        self._collect_model(runs, samples)
        self.certificates_ = [run.certificate for run in runs]
        self.learning_curve_ = [run.history for run in runs]
        self.phases_ = [run.phases for run in runs]
        self.solver_ = _common_path(self.phases_)
        self.n_iter_ = max(run.n_epochs for run in runs)
        self.n_updates_ = sum(run.certificate.n_updates for run in runs)
        self.n_accesses_ = sum(run.n_accesses for run in runs)
        self.converged_ = all(run.converged for run in runs)

    def _collect_model(self, runs, samples):
        """Set the fitted attributes that predictions use."""
        hypotheses = [run.hypothesis for run in runs]
        scales = [self._scale(run) for run in runs]
        self.intercept_ = np.array(
            [
                scale * (run.data.sqrho * hypothesis.label_sum - run.theta)
                for run, hypothesis, scale in zip(runs, hypotheses, scales, strict=True)
            ]
        )
        if self.kernel_ != LINEAR:
            signed = np.stack(
                [
                    scale * run.data.signs * hypothesis.dual
                    for run, hypothesis, scale in zip(runs, hypotheses, scales, strict=True)
                ]
            )
            support = np.flatnonzero(signed.any(axis=0))
            self.dual_coef_ = signed[:, support]
            self._set_support(samples, support)
            return
        self.coef_ = np.array(
            [scale * hypothesis.weights for hypothesis, scale in zip(hypotheses, scales, strict=True)]
        )
        if runs[0].keep_dual and self._leaves_dual:
            self.dual_coef_ = np.zeros((len(runs), samples.n_samples))
            # A slice where all samples are kept: indices take longer than a Newton step of a small fit.
            kept = slice(None) if len(samples.kept) == samples.n_samples else samples.kept
            for row, run, hypothesis in zip(self.dual_coef_, runs, hypotheses, strict=True):
                row[kept] = run.dual_scale * hypothesis.dual

    def _set_support(self, samples, support):
        """Set the support to those of the samples."""
        self.support_ = samples.kept[support]
        self.support_vectors_ = samples.X[:0, :0] if self._is_precomputed else samples.X[support]


def _common_path(phases):
    """The solver paths of all binary problems, each once: str."""
    if len(phases) == 1:
        return solver_path(phases[0])
    return ", ".join(dict.fromkeys(map(solver_path, phases)))
