"""What to give in place of parameters that scikit-learn's classifiers have and these do not."""

# {parameter: what to give}; of a tuple, the first is a parameter that a class must have for the advice.
INSTEAD: dict[str, str | tuple[str, str]] = {
    "alpha": ("C", "give C=1 / (alpha * n_samples)"),
    "average": ("averaging", "give averaging='averaged'"),
    "break_ties": "of equal scores, or of equal votes, the first class is predicted",
    "decision_function_shape": "there is one score for each class, as with 'ovr'",
    "dual": "leave it out: the solver is chosen by the data, and primal and dual values are certified",
    "early_stopping": "give margins.callbacks.EarlyStopping with samples held out",
    "eta0": ("eta", "give eta"),
    "multi_class": "classes are one-vs-rest; for pairs take MarginClassifier, or OneVsOneClassifier",
    "n_iter_no_change": "leave it out: a fit ends when eps is proven",
    "penalty": "it is 'l2'; for 'l1' take sklearn.svm.LinearSVC or SGDClassifier",
    "probability": "take MarginClassifierCV(calibration='sigmoid'), or CalibratedClassifierCV around it",
    "shrinking": "leave it out: no solver shrinks",
    "tol": ("eps", "give eps, the accuracy that a fit proves"),
}


def advice_for(names: list[str]) -> dict[str, str]:
    """What to give in place of parameters that a class with these does not have: dict."""
    advice = {}
    for name, instead in INSTEAD.items():
        needed, text = instead if isinstance(instead, tuple) else (None, instead)
        if name not in names and (needed is None or needed in names):
            advice[name] = text
    return advice
