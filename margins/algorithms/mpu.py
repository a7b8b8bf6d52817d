"""The margin perceptron with unlearning."""

from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import Interval, optional, parameter
from margins.solvers.unlearning import accuracy_before_run, threshold, unlearning_phases
from margins.tuning import TUNING


class UnlearningMarginPerceptron(SoftMarginClassifier):
    """The margin perceptron with unlearning: learn below b, unlearn what was learned above b + delta_b.

    Unlike other perceptrons it takes back: a sample that was added when it was hard and has become
    easy is subtracted again. With bounded dual variables it solves the L1-SVM, which has no hard
    margin to be reached.

    Runs start with b chosen so that the accuracy is guaranteed before the run; if the certificate
    should not confirm eps, b is doubled and the run goes on from where it is. Nested active sets decide
    the order in which samples are visited.

    See Also
    --------
    margins.MarginClassifier : The same problems by the fastest solver.

    **Source**: Panagiotakopoulos & Tsampouka (2010), (10)-(12), (22)-(24), Remark 4, section 5.
    """

    before_run: float | None = parameter(
        optional(Interval(0, 1, "right")),
        "Accuracy that the choice of b guarantees before the run. None: eps, or, for the hinge loss, "
        "eps / 100.",
        default=None,
    )
    delta_b: float = parameter(
        Interval(1, 1e12, "right"),
        "Width of the zone without learning or unlearning, in units of R**2.",
        default=TUNING.unlearning.delta_b,
    )

    def phases(self, run):
        accuracy = self.before_run
        if accuracy is None:
            accuracy = accuracy_before_run(run.loss, self.eps)
        accuracy = max(accuracy, TUNING.unlearning.finest_accuracy)
        delta_b = self.delta_b * (run.sqradius or 1.0)  # 0: all rows are, which the hinge loss allows
        yield from unlearning_phases(run, threshold(run.loss, self.C, accuracy, delta_b), delta_b)
