"""Modules as users write them, with a value that an edit changes."""

import sys
import textwrap
import types

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from margins.model_selection.keys import digest

MODULE = "users_code"

# Each defines `scorer`, or `estimator` whose own scores are used, and must score VALUE.
SCORERS = {
    "function": """
        def scorer(estimator, X, y):
            return VALUE
    """,
    "default": """
        def scorer(estimator, X, y, value=VALUE):
            return value
    """,
    "class within a function": """
        LIMIT = VALUE
        def scorer(estimator, X, y):
            class Limits:
                value = LIMIT
            return Limits.value
    """,
    "lambda": "scorer = lambda estimator, X, y: VALUE",
    "lambda within a function": """
        FACTOR = VALUE
        def scorer(estimator, X, y):
            return next(map(lambda value: value * FACTOR, [1.0]))
    """,
    "comprehension": """
        FACTORS = {"one": VALUE}
        def scorer(estimator, X, y):
            return sum(FACTORS[name] for name in ["one"])
    """,
    "closure": """
        def made(value):
            def scorer(estimator, X, y):
                return value
            return scorer
        scorer = made(VALUE)
    """,
    "partial": """
        import functools
        def scored(estimator, X, y, value):
            return value
        scorer = functools.partial(scored, value=VALUE)
    """,
    "state of a callable object": """
        class Scorer:
            def __init__(self, value):
                self.value = value
            def __call__(self, estimator, X, y):
                return self.value
        scorer = Scorer(VALUE)
    """,
    "bound method": """
        class Scores:
            value = VALUE
            def of(self, estimator, X, y):
                return self.value
        scorer = Scores().of
    """,
    "method of a built-in object": """
        TABLE = {"value": VALUE}
        GET = TABLE.get
        def scorer(estimator, X, y):
            return GET("value")
    """,
    "number": """
        FACTOR = VALUE
        def scorer(estimator, X, y):
            return FACTOR
    """,
    "array": """
        import numpy as np
        TABLE = np.array([0.0, VALUE])
        def scorer(estimator, X, y):
            return TABLE[1]
    """,
    "structured array": """
        import numpy as np
        NAMES = ["ab", "ba"][int(VALUE) - 1]
        TABLE = np.array([(1.0, 2.0)], dtype=[(NAMES[0], float), (NAMES[1], float)])
        def scorer(estimator, X, y):
            return TABLE["a"][0]
    """,
    "masked array": """
        import numpy as np
        TABLE = np.ma.array([1.0, 2.0], mask=[VALUE == 2, VALUE == 1])
        def scorer(estimator, X, y):
            return TABLE.sum()
    """,
    "class": """
        class Config:
            factor = VALUE
        def scorer(estimator, X, y):
            return Config.factor
    """,
    "data class": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            factor: float = VALUE
        def scorer(estimator, X, y):
            return Config().factor
    """,
    "enumeration": """
        import enum
        class Config(enum.Enum):
            FACTOR = VALUE
        def scorer(estimator, X, y):
            return Config.FACTOR.value
    """,
    "function that is called": """
        def innermost():
            return VALUE
        def helper():
            return innermost()
        def scorer(estimator, X, y):
            return helper()
    """,
    "functions that call each other": """
        def even(n):
            return VALUE if n == 0 else odd(n - 1)
        def odd(n):
            return 0.0 if n == 0 else even(n - 1)
        def scorer(estimator, X, y):
            return even(4)
    """,
    "attribute of a function": """
        def helper():
            return helper.value
        helper.value = VALUE
        def scorer(estimator, X, y):
            return helper()
    """,
    "memoised function": """
        import functools
        @functools.lru_cache
        def helper():
            return VALUE
        def scorer(estimator, X, y):
            return helper()
    """,
    "function wrapped by a library": """
        import contextlib
        @contextlib.contextmanager
        def value():
            yield VALUE
        def scorer(estimator, X, y):
            with value() as found:
                return found
    """,
    "vectorised function": """
        import numpy as np
        helper = np.vectorize(lambda value: value * VALUE)
        def scorer(estimator, X, y):
            return helper([1.0])[0]
    """,
    "fitted model": """
        import numpy as np
        from sklearn.linear_model import LinearRegression
        model = LinearRegression().fit([[0.0], [1.0]], [0.0, VALUE])
        def scorer(estimator, X, y):
            return np.round(model.predict([[1.0]])[0])
    """,
    "metric of scikit-learn": """
        from sklearn.metrics import make_scorer
        def metric(y_true, y_predicted):
            return VALUE
        scorer = make_scorer(metric)
    """,
    "series": """
        import pandas as pd
        TABLE = pd.Series([1.0, 2.0], index=["ab"[int(VALUE) - 1], "ab"[2 - int(VALUE)]])
        def scorer(estimator, X, y):
            return TABLE["a"]
    """,
}
# Bodies of an estimator's class; what they use is defined before the class.
ESTIMATORS = {
    "attribute": "TABLE = {1: [np.array([VALUE])]}\n    def value(self): return self.TABLE[1][0][0]",
    "set": "TABLE = {'a', VALUE}\n    def value(self): return 1.0 + (2.0 in self.TABLE)",
    "object": "TABLE = Held(VALUE)\n    def value(self): return self.TABLE.held",
    "inner class": "class Inner:\n        held = VALUE\n    def value(self): return self.Inner.held",
    "property": "@property\n    def found(self): return VALUE\n    def value(self): return self.found",
    "cached property": "@functools.cached_property\n    def found(self): return VALUE\n"
    "    def value(self): return self.found",
    "global of a method": "def value(self): return TABLE['a']",
    "base": "def value(self): return super().held_value()",
}
BEFORE = {
    "object": "class Held:\n    def __init__(self, held):\n        self.held = held",
    "global of a method": "TABLE = {'a': VALUE}",
    "base": "class Parent:\n    TABLE = {1: VALUE}\n    def held_value(self): return self.TABLE[1]",
}
ESTIMATOR = """
import functools
import numpy as np
from margins.algorithms.pam import PerceptronWithMargin
{before}
class Own({bases}):
    '''Own. **Source**: this test.'''
    {body}
estimator = Own()
def scorer(estimator, X, y):
    return estimator.value()
"""
SOURCES = {name: textwrap.dedent(text) for name, text in SCORERS.items()} | {
    f"{name} of an estimator": ESTIMATOR.format(
        before=BEFORE.get(name, ""),
        bases="Parent, PerceptronWithMargin" if name == "base" else "PerceptronWithMargin",
        body=body,
    )
    for name, body in ESTIMATORS.items()
}


def module_of(name, value):
    """A new module of a user, whose source has a value in it."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    exec(SOURCES[name].replace("VALUE", str(value)), module.__dict__)
    return module


def estimator_of(module):
    return getattr(module, "estimator", RidgeClassifier())


def digest_of(module):
    return digest(module.scorer, clone(estimator_of(module)))


def scaled(X, factor=2):
    return X * factor


scaled.__module__ = "anywhere"  # of unknown version, so its code is part of the key


def digests(names):
    """Digests of the code of some modules, and of values that do not depend on the process."""
    values = [
        make_pipeline(FunctionTransformer(scaled), StandardScaler()),
        set("abcdefg"),
        np.eye(2),
        {"a": 1.0},
    ]
    found = {"pipeline and others": digest(values)} | dict(enumerate(map(digest, values)))
    for name in names:
        found[name] = digest_of(module_of(name, 1.0))
    return found
