class RuleError(ValueError):
    """A rule has returned a number that no rule may return: NaN or an infinite value.

    It is a `ValueError`, as for data with NaN, because the rule is an input of the fit.

    Parameters
    ----------
    rule : str
        `repr` of the rule.
    requirement : str
        What the rule must do.
    got : float
        What the rule returned.
    sample : int
        The sample at which this happened. For a condition, it is the sample of the previous update, or
        the first sample of the pass.
    algorithm : str, optional
        Name of the algorithm in the registry, or of its class.

    Examples
    --------
    >>> print(RuleError("Mine()", "return finite factors", float("nan"), 3, "mine"))
    Mine() of mine must return finite factors. Got nan at sample 3.
    """

    def __init__(
        self, rule: str, requirement: str, got: float, sample: int, algorithm: str | None = None
    ) -> None:
        super().__init__(rule, requirement, got, sample, algorithm)
        self.rule = rule
        self.requirement = requirement
        self.got = got
        self.sample = sample
        self.algorithm = algorithm

    def __str__(self) -> str:
        owner = "" if self.algorithm is None else f" of {self.algorithm}"
        return f"{self.rule}{owner} must {self.requirement}. Got {self.got} at sample {self.sample}."
