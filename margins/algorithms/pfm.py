import math
from collections.abc import Callable
from typing import Any

import numpy as np

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.kernels.kernel import Kernel
from margins.kernels.selection import kernel_choice
from margins.parameters import POSITIVE, Interval, optional, parameter
from margins.rules import Additive, FixedMargin, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS


class FixedMarginPerceptron(OnlineMixin, BaseMarginClassifier):
    """The perceptron with fixed margin condition: require ``a.y > (1 - eps) gamma |a|``.

    **Guarantee**: if the data have a margin of at least gamma, it ends with a margin of at least ``(1 -
    eps) gamma``, after at most ``2 (R / (eps gamma))**2 + 2 R / (eps gamma)`` updates. If gamma is too
    large, ``|a| / S`` falls below ``(1 - eps) gamma``, which proves that no such margin exists: the fit
    ends with a warning.

    **Use it for** a margin that is known or must be refuted. **Avoid it for** unknown margins: if C
    is inf and gamma too large, it runs until max_iter.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (7) and Theorem 3.1; Margin
    Perceptron(gamma), Theorem 2 of the lecture on linear separators, which has eps = 1/2.

    See Also
    --------
    DynamicMarginPerceptron : No prior knowledge of a margin.
    MarginPerceptron : A functional margin.
    """

    EXAMPLE = 'get("pfm")(gamma=0.5, C=float("inf"), random_state=0)'

    gamma: float | None = parameter(  # type: ignore[assignment]  # a margin, not a kernel's
        optional(POSITIVE),
        "Margin that the data are known to have, the soft margin if C < inf. None: the margin that the "
        "slack terms alone ensure, (sum_k 2 C_k)**-0.5; not allowed for C = inf.",
        default=None,
    )
    eps: float = parameter(
        Interval(0, 1, "right"), "Accuracy: the margin required is (1 - eps) gamma.", default=0.5
    )

    # `gamma` is a margin here, so users must pass a kernel with a parameter gamma as an object.
    kernel: str | Kernel | Callable[[Any, Any], Any] = kernel_choice(reserved=["gamma"])

    @property
    def is_online(self):
        return self.gamma is not None

    def check_parameters(self):
        super().check_parameters()
        if self.gamma is None and math.isinf(self.C):
            raise ValueError(
                f"gamma of {self._display_name()} must be given if C=inf, because no margin is known in "
                "advance. Got None."
            )

    def phases(self, run):
        gamma = self.gamma
        if gamma is None:
            gamma = 1 / math.sqrt(float(np.sum(1 / run.data.diagonal)))
        beta = (1 - self.eps) * gamma

        def infeasible(run):
            if run.upper_bound >= beta:
                return None
            return (
                f"no margin exceeds {run.upper_bound:.6g}, so (1 - eps) gamma = {beta:.6g} cannot be "
                "reached; give a smaller gamma"
            )

        yield Phase(Rules(FixedMargin(beta), Additive(), NoShrink()), NESTED_SETS, infeasible=infeasible)

    def online_rules(self, sqradius):
        return Rules(FixedMargin((1 - self.eps) * self.gamma), Additive(most=1), NoShrink())
