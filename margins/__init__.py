"""Large-margin classifiers that prove how good they are.

>>> import margins
>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> classifier = margins.MarginClassifier(C=1, eps=0.01).fit(X / X.max(axis=0), y)
>>> bool(classifier.certificates_[0].fraction >= 0.99)
True
"""

from typing import TYPE_CHECKING

from margins.registry import available, register

if TYPE_CHECKING:
    # The same function, but the class of every built-in name is known.
    from margins.algorithms._built_ins import get
    from margins.estimators.margin_classifier import MarginClassifier
    from margins.versions import show_versions
else:
    from margins.registry import get

    def __getattr__(name):
        # Its first use imports NumPy, SciPy and scikit-learn; `import margins` does not.
        if name == "MarginClassifier":
            from margins.estimators.margin_classifier import MarginClassifier

            globals()[name] = MarginClassifier  # no import, and no lock of it, from now on
            return MarginClassifier
        if name == "show_versions":
            from margins.versions import show_versions

            globals()[name] = show_versions
            return show_versions
        raise AttributeError(f"module 'margins' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = ["MarginClassifier", "available", "get", "register", "show_versions"]
__version__ = "0.2.0"
