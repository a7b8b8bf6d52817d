"""Advice on parameters that scikit-learn's classifiers have and the classifiers of margins lack."""

# {parameter: advice}. A tuple starts with a parameter that the class must have for the advice to apply.
INSTEAD: dict[str, str | tuple[str, str]] = {
    "alpha": ("C", "use C=1 / (alpha * n_samples)"),
    "average": ("averaging", "use averaging='averaged'"),
    "break_ties": "if scores or votes are equal, the first class is predicted",
    "decision_function_shape": "there is one score for each class, as with 'ovr'",
    "dual": "omit it: the solver is chosen for the data, and the certificate has primal and dual values",
    "early_stopping": "use margins.callbacks.EarlyStopping with held-out samples",
    "eta0": ("eta", "use eta"),
    "multi_class": "classes are one-vs-rest; for pairs use MarginClassifier or OneVsOneClassifier",
    "n_iter_no_change": "omit it: a fit ends when eps is proven",
    "penalty": "it is 'l2'; for 'l1' use sklearn.svm.LinearSVC or SGDClassifier",
    "probability": "use MarginClassifierCV(calibration='sigmoid'), or CalibratedClassifierCV around it",
    "shrinking": "omit it: no solver shrinks",
    "tol": ("eps", "use eps, the accuracy that a fit proves"),
}


def advice_for(names: list[str]) -> dict[str, str]:
    """Return the advice on parameters that a class with the parameters `names` lacks (dict)."""
    advice = {}
    for name, entry in INSTEAD.items():
        required, text = entry if isinstance(entry, tuple) else (None, entry)
        if name not in names and (required is None or required in names):
            advice[name] = text
    return advice
