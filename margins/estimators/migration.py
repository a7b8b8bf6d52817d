"""Advice on parameters that scikit-learn's classifiers have and the classifiers of margins lack."""

OF_THE_PAPER = ("", "omit it: the algorithm runs exactly the rules of its paper")
# {parameter: pieces of advice}. Each comes with the parameter that makes it true of a class; "" if it is
# always true. The first true one is given.
SKLEARN_ADVICE: dict[str, tuple[tuple[str, str], ...]] = {
    "alpha": (("C", "use C=1 / (alpha * n_samples)"),),
    "average": (("averaging", "use averaging='averaged'"),),
    "break_ties": (("", "if scores or votes are equal, the first class is predicted"),),
    "decision_function_shape": (("", "there is one score for each class, as with 'ovr'"),),
    "dual": (
        ("solver", "omit it: the solver is chosen for the data, and the certificate has both values"),
        OF_THE_PAPER,
    ),
    "early_stopping": (("", "use margins.callbacks.EarlyStopping with held-out samples"),),
    "eta0": (
        ("eta", "use eta"),
        ("aggressiveness", "use aggressiveness, which is eta0 of learning_rate='pa1' and 'pa2'"),
    ),
    "learning_rate": (
        ("aggressiveness", "omit it: margins.get('pa-i') is 'pa1', and margins.get('pa-ii') is 'pa2'"),
        ("solver", "omit it: the solvers have no learning rate"),
        OF_THE_PAPER,
    ),
    "multi_class": (
        ("", "classes are one-vs-rest; for pairs use MarginClassifier or OneVsOneClassifier"),
    ),
    "n_iter_no_change": (
        ("eps", "omit it: a fit ends when eps is proven"),
        ("max_iter", "omit it: max_iter limits the number of epochs"),
    ),
    "penalty": (
        ("loss", "it is 'l2'; for 'l1' use sklearn.svm.LinearSVC or SGDClassifier"),
        ("C", "omit it: a finite C gives the 2-norm soft margin"),
    ),
    "probability": (
        ("solver", "use MarginClassifierCV(calibration='sigmoid'), or CalibratedClassifierCV around it"),
        ("", "use sklearn.calibration.CalibratedClassifierCV around it"),
    ),
    "shrinking": (("solver", "omit it: only solver='dcd' shrinks, and it always does"), OF_THE_PAPER),
    "tol": (("eps", "use eps, the accuracy that a fit proves"),),
}


def advice_for(names: list[str]) -> dict[str, str]:
    """Return the advice on parameters that a class with the parameters `names` lacks (dict)."""
    advice = {}
    for name, entries in SKLEARN_ADVICE.items():
        true = [text for required, text in entries if required in ("", *names)]
        if true and name not in names:
            advice[name] = true[0]
    return advice
