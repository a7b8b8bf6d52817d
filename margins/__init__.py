"""Large-margin classifiers that prove how good they are.

>>> import margins
>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> classifier = margins.MarginClassifier(C=1, eps=0.01).fit(X / X.max(axis=0), y)
>>> bool(classifier.certificates_[0].fraction >= 0.99)
True
"""

from typing import TYPE_CHECKING

from margins._version import __version__ as __version__
from margins.registry import available, register

if TYPE_CHECKING:
    from margins import (  # noqa: F401
        algorithms,
        bounds,
        callbacks,
        certificate,
        data,
        datasets,
        estimators,
        interchange,
        kernels,
        losses,
        model_selection,
        parameters,
        persistence,
        plotting,
        regularisers,
        rules,
        solvers,
        testing,
        training,
    )

    # The same function, but the class of every built-in name is known.
    from margins.algorithms._built_ins import get
    from margins.estimators.margin_classifier import MarginClassifier
    from margins.estimators.path import svm_path
    from margins.estimators.separability import separability
    from margins.interchange.certification import certify
    from margins.model_selection.classifier_cv import MarginClassifierCV
    from margins.model_selection.leave_one_out import leave_one_out
    from margins.versions import show_versions
else:
    from margins.registry import get

    # `import margins` imports none of NumPy, SciPy and scikit-learn: the first use of these names does.
    _MODULES = {
        "MarginClassifier": "margins.estimators.margin_classifier",
        "MarginClassifierCV": "margins.model_selection.classifier_cv",
        "certify": "margins.interchange.certification",
        "leave_one_out": "margins.model_selection.leave_one_out",
        "separability": "margins.estimators.separability",
        "show_versions": "margins.versions",
        "svm_path": "margins.estimators.path",
    }
    # Packages and modules with public names. A package that has none itself loads those modules that do.
    _SUBMODULES = {
        "algorithms": (),
        "bounds": (),
        "callbacks": (),
        "certificate": (),
        "data": ("chunks",),
        "datasets": (),
        "estimators": ("base", "maximum_margin", "online", "path", "separability", "soft_margin"),
        "interchange": (),
        "kernels": (),
        "losses": (),
        "model_selection": (),
        "parameters": (),
        "persistence": (),
        "plotting": (),
        "regularisers": (),
        "rules": (),
        "solvers": ("base", "explanation", "schedules"),
        "testing": (),
        "training": ("specification",),
    }

    def __getattr__(name):
        from importlib import import_module

        if name in _MODULES:
            globals()[name] = value = getattr(import_module(_MODULES[name]), name)
            return value  # later look-ups skip __getattr__ and its import lock
        if name in _SUBMODULES:
            for module in _SUBMODULES[name]:
                import_module(f"margins.{name}.{module}")
            return import_module(f"margins.{name}")
        raise AttributeError(f"module 'margins' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__, *_SUBMODULES})


__all__ = [
    "MarginClassifier",
    "MarginClassifierCV",
    "available",
    "certify",
    "get",
    "leave_one_out",
    "register",
    "separability",
    "show_versions",
    "svm_path",
]
