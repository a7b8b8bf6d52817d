"""Wrong code: mypy must find the error that each comment names, and no other. Nothing calls it."""

from collections.abc import Iterator

import margins
from margins.algorithms.mpu import UnlearningMarginPerceptron
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.parameters import Interval, parameter
from margins.rules import Additive, DynamicMargin, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.driver import Run


def constructors() -> None:
    UnlearningMarginPerceptron(C="a")  # error: arg-type
    UnlearningMarginPerceptron(penalty=1.0)  # error: call-arg
    UnlearningMarginPerceptron(1.0)  # error: call-arg
    UnlearningMarginPerceptron(loss="logistic")  # error: arg-type
    UnlearningMarginPerceptron(random_state="seed")  # error: arg-type
    UnlearningMarginPerceptron(class_weight="equal")  # error: arg-type
    margins.get("mpu")(penalty=1.0)  # error: call-arg
    margins.MarginClassifier(solver="simplex")  # error: arg-type
    margins.get("auto")(newton=False)  # error: call-arg
    margins.get(3)  # error: call-overload


def attributes(X: list[list[float]], y: list[int]) -> str:
    clf = UnlearningMarginPerceptron().fit(X, y)
    print(clf.coeff_)  # error: attr-defined
    clf.partial_fit(X, y)  # error: attr-defined
    clf.fit(X)  # error: call-overload
    return clf.certificates_[0].gap  # error: return-value


class WrongPlugin(MaximumMarginClassifier):
    start: float = parameter(Interval(0, 1), "The first accuracy.", default="half")  # error: assignment
    eps: str = parameter(Interval(0, 1), "Accuracy.", default="low")  # error: assignment
    without: float = parameter(Interval(0, 1), "It has no default.")  # error: call-arg

    def phases(self, run: Run) -> Iterator[Phase]:
        yield Phase(Rules(Additive(), DynamicMargin(0.1), NoShrink()))  # error: arg-type
        yield Phase(Rules(DynamicMargin("0.1"), Additive(), NoShrink()))  # error: arg-type
