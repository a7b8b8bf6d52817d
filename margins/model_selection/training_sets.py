"""Training sets that the fits of a study share: samples are validated once, and sums made once."""

import math

from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
from margins.data.validation import validate_points, validate_samples
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.losses import HardMargin


class StudyData:
    """Training and test set of all fits, validated by the first of them.

    Parameters
    ----------
    estimator : classifier
        Of the first fit.
    X, y, X_test, sample_weight
        As those of `margins.model_selection.lockstep.scores_in_lockstep`.

    Attributes
    ----------
    X : ndarray or CSR matrix of float64, shape (n_samples, n_features)
    codes : ndarray of int, shape (n_samples,)
        Indices of the classes.
    classes : ndarray, shape (n_classes,)
    X_test : ndarray or CSR matrix of float64, shape (n_test, n_features)
    """

    def __init__(self, estimator, X, y, X_test, sample_weight):
        self.X, y, self.codes = validate_samples(estimator, X, y)
        self.classes = estimator.classes_
        self._sample_weight = sample_weight
        self._training_sets = []
        self.training_set(estimator)  # checks the weights before the test set is validated
        self.X_test = validate_points(estimator, X_test)

    def training_set(self, estimator):
        """The training set with the class weights of an estimator."""
        for class_weight, training_set in self._training_sets:
            if class_weight is estimator.class_weight:
                return training_set
        training_set = TrainingSet(estimator._weigh(self.X, self.codes, self._sample_weight))
        self._training_sets.append((estimator.class_weight, training_set))
        return training_set


class TrainingSet:
    """Samples, their rows, and the binary problems made of them.

    Parameters
    ----------
    samples : margins.data.samples.Samples
    """

    def __init__(self, samples):
        self.samples = samples
        self.rows = rows_of(samples.X)
        self.sqnorms = self.rows.sqnorms()
        self._augmented = {}
        self._data = {}

    def augmented_sqnorms(self, sqrho):
        """|x_k|^2 + rho^2; ValueError if a sample cannot be trained on."""
        if sqrho not in self._augmented:
            self._augmented[sqrho] = augmented_sqnorms(
                self.sqnorms, sqrho, hard_margin=True, zero_rows=AveragingClassifier._takes_zero_rows
            )
        return self._augmented[sqrho]

    def data(self, code, sqrho):
        """The binary problem of one class."""
        if (code, sqrho) not in self._data:
            self._data[code, sqrho] = make_binary_data(
                self.rows,
                self.augmented_sqnorms(sqrho),
                self.samples.codes == code,
                sqrho,
                HardMargin.diag,
                math.inf,
            )
        return self._data[code, sqrho]
