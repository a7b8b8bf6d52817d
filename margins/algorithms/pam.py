from margins.estimators.noise_tolerance import NoiseTolerantClassifier


class PerceptronWithMargin(NoiseTolerantClassifier):
    """The perceptron algorithm with margins: scores must exceed tau theta_init.

    Among the noise-tolerant variants compared by Khardon & Wachman, it improves the last hypothesis
    most, and combinations with others gain little. **Guarantee**: on separable data, with theta learned
    in steps of C = R**2, its margin is at least ``tau / (sqrt(8) (eta R**2 + tau))`` of the maximum,
    with tau in absolute units.

    **Use it for** noisy labels and few epochs. **Avoid it for** a proven accuracy.

    **Source**: Krauth & Mezard (1987); Khardon & Wachman (2007), section 2.4, "PAM".

    See Also
    --------
    Perceptron : All options of the noise-tolerant variants.
    UnevenMarginPerceptron : One margin for each label.
    """

    EXAMPLE = 'get("pam")(random_state=0)'
    tau = 1.0
