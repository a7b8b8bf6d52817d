from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import Interval, optional, parameter
from margins.solvers.unlearning import accuracy_before_run, threshold, unlearning_phases
from margins.tuning import TUNING


class UnlearningMarginPerceptron(SoftMarginClassifier):
    """The margin perceptron with unlearning: learn below b, unlearn what was learned above b + delta_b.

    Unlike other perceptrons it unlearns: a sample that has been added is subtracted again if its product
    has become large. With bounded dual variables it solves the L1-SVM.

    A run starts with a b that guarantees the accuracy in advance; if the certificate does not confirm
    eps, b is doubled and the run continues. Samples are processed in nested active sets.

    **Use it for** an accuracy known before the run, or a rule-based L1-SVM. **Avoid it for** the
    solution alone, which `MarginClassifier` finds sooner.

    **Source**: Panagiotakopoulos & Tsampouka (2010), (10)-(12), (22)-(24), Remark 4, section 5.

    See Also
    --------
    MarginClassifier : The same problems, with the fastest solver.
    """

    EXAMPLE = 'get("mpu")(C=1, eps=0.05, random_state=0)'

    before_run: float | None = parameter(
        optional(Interval(0, 1, "right")),
        "Accuracy that the initial b guarantees. None: eps, or eps / 100 for the hinge loss.",
        default=None,
    )
    delta_b: float = parameter(
        Interval(1, 1e12, "right"),
        "Width of the interval without learning or unlearning, in units of R**2.",
        default=TUNING.unlearning.delta_b,
    )

    def phases(self, run):
        accuracy = self.before_run
        if accuracy is None:
            accuracy = accuracy_before_run(run.loss, self.eps)
        accuracy = max(accuracy, TUNING.unlearning.finest_accuracy)
        # R is 0 if all rows are 0, which the hinge loss allows.
        delta_b = self.delta_b * (run.sqradius or 1.0)
        b = threshold(run.loss, self.C, accuracy, delta_b)
        if run.is_warm:
            run.rescale_to_feasible()
            run.rescale(b)
        yield from unlearning_phases(run, b, delta_b)
