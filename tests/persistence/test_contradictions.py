"""Model files whose attributes contradict each other: loading refuses them, or predictions work."""

import copy
import io
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import margins
from margins.persistence import dump, load

pytest.importorskip("skops")

X, Y = (part[::5] for part in load_iris(return_X_y=True))
MODELS = {
    "linear": lambda: margins.MarginClassifier().fit(X, Y),
    "linear pairs": lambda: margins.MarginClassifier(multi_class="ovo").fit(X, Y),
    "kernel": lambda: margins.MarginClassifier(kernel="rbf").fit(X, Y),
    "kernel pairs": lambda: margins.MarginClassifier(kernel="poly", multi_class="ovo").fit(X, Y),
    "matrix": lambda: margins.MarginClassifier(kernel="precomputed").fit(X @ X.T, Y),
    "votes": lambda: margins.get("voted-perceptron")(kernel="rbf", max_iter=2).fit(X, Y),
    "selection": lambda: margins.MarginClassifierCV(Cs=[1], cv=2, calibration="sigmoid").fit(X, Y),
}
# Attributes that predictions read; those of a selection are in its `estimator_`, too.
READ = (
    *("classes_", "n_features_in_", "kernel_", "coef_", "intercept_", "pairs_", "dual_coef_"),
    *("support_", "support_vectors_", "n_support_", "_voted_model", "sq_intercept_scaling_"),
    *("_first_theta", "estimator_", "_calibrated"),
)
OPTIONAL = ("estimator_", "_calibrated")  # a fit may leave them out, and methods say so
MISSING = object()


@cache
def fitted(name):
    return MODELS[name]()


def wrong_values(value):
    """Values of another type or shape."""
    yield from (MISSING, None, [1])
    if isinstance(value, np.ndarray):
        yield from (value[:-1], value[None], value.astype(object))
        if value.dtype.kind in "iu":
            yield from (value - 100, value + 100)
    elif isinstance(value, int):
        yield value + 1


def damaged_models(name):
    """Yield what is wrong, and the model."""
    model = fitted(name)
    for attribute in READ:
        for number, value in enumerate(wrong_values(vars(model).get(attribute))):
            changed = copy.deepcopy(model)
            if attribute in vars(changed) and not (value is MISSING and attribute in OPTIONAL):
                delattr(changed, attribute) if value is MISSING else setattr(changed, attribute, value)
                yield f"{attribute} {number}", changed
    for parameter in getattr(model.kernel_, "__dataclass_fields__", ()):
        for value in ("scale", [1]):
            changed = copy.deepcopy(model)
            object.__setattr__(changed.kernel_, parameter, value)
            yield f"{parameter} {value}", changed


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are no indices
def test_a_damaged_model_is_refused_or_predicts(name):
    data, n_refused = X[:3] if name != "matrix" else (X @ X.T)[:3], 0
    for what, model in damaged_models(name):
        file = io.BytesIO()
        try:
            dump(model, file)
        except (AttributeError, TypeError):  # some cannot be written
            continue
        try:
            again = load(io.BytesIO(file.getvalue()))
        except ValueError as error:
            assert "contains a damaged" in str(error), what
            n_refused += 1
            continue
        assert again.predict(data).shape == (3,), what
        for method in ("decision_function", "predict_proba"):
            if hasattr(again, method):
                assert len(getattr(again, method)(data)) == 3, what
    assert n_refused >= 10


@pytest.mark.parametrize(
    ("fitted_with", "set_later"),
    [({}, {"calibration": "sigmoid"}), ({"calibration": "sigmoid"}, {"calibration": None})]
    + [({"refit": False}, {"refit": True})],
)
def test_parameters_that_are_set_after_the_fit_damage_no_file(fitted_with, set_later):
    model = margins.MarginClassifierCV(Cs=[1], cv=2, **fitted_with).fit(X, Y).set_params(**set_later)
    file = io.BytesIO()
    dump(model, file)
    again = load(io.BytesIO(file.getvalue()))
    assert again.get_params() == model.get_params() and again.C_ == model.C_
    if hasattr(model, "estimator_"):
        assert (again.predict(X) == model.predict(X)).all()
    if again.calibration is not None or not fitted_with.get("refit", True):
        with pytest.raises(NotFittedError):
            again.predict_proba(X) if again.calibration else again.predict(X)
