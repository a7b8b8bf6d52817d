"""Training sets that the fits of a study share, with samples validated and summed only once."""

from margins.data.validation import validate_points, validate_samples, weighted_samples
from margins.estimators.names import MessageName


class StudyData:
    """Training and test set of all fits, validated by the first fit.

    estimator: classifier of the first fit.
    X, y, X_test, sample_weight: as for `margins.model_selection.lockstep.scores_in_lockstep`.
    """

    def __init__(self, estimator, X, y, X_test, sample_weight):
        self._valid = validate_samples(estimator, X, y, MessageName(estimator, "fit"))
        self._sample_weight = sample_weight
        self._training_sets = []
        samples = self.training_set(estimator).samples  # checks the weights before the test set
        self.X_test = validate_points(estimator, X_test, samples)

    def training_set(self, estimator):
        """Return the TrainingSet with the class weights of an estimator."""
        for class_weight, training_set in self._training_sets:
            if class_weight is estimator.class_weight:
                return training_set
        name, class_weight = MessageName(estimator, "fit"), estimator.class_weight
        samples = weighted_samples(name, self._valid, self._sample_weight, class_weight)
        training_set = estimator.training_set_of(samples)
        self._training_sets.append((class_weight, training_set))
        return training_set
