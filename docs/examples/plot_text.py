"""
Text classification
===================

Is a docstring from NumPy or from SciPy? Some thousand texts, which are installed with these libraries,
become normalised word counts.
"""

import inspect
import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import scipy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

import margins


def docstrings(package, names):
    """The paragraphs of the docstrings of some modules, without the name of the package."""
    for name in names:
        module = import_module(f"{package.__name__}.{name}")
        for _, value in inspect.getmembers(module, callable):
            text = inspect.getdoc(value) or ""
            for paragraph in re.split(r"\n\s*\n", text):
                if len(paragraph) > 80:
                    yield re.sub(r"(?i)numpy|scipy|\bnp\b|\bsp\b", " ", paragraph)


first = set(docstrings(np, ["linalg", "fft", "random", "ma", "polynomial", "strings"]))
second = set(docstrings(scipy, ["linalg", "fft", "signal", "optimize", "sparse", "ndimage"]))
texts = sorted(first - second) + sorted(second - first)
labels = np.repeat(["numpy", "scipy"], [len(first - second), len(second - first)])

vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
train, test, y_train, y_test = train_test_split(texts, labels, random_state=0)
X_train, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
print(f"{X_train.shape[0]} texts, {X_train.shape[1]} words")

# %%
# First the plan, then the fit and the words with the largest weights.
classifier = margins.MarginClassifier(loss="hinge", C=1.0, eps=1e-3, random_state=0)
print(classifier.explain(X_train, y_train))
classifier.fit(X_train, y_train)
accuracy, gap = classifier.score(X_test, y_test), classifier.certificates_[0].gap
print(f"accuracy {accuracy:.3f}, proven gap {gap:.1e}")

order = np.argsort(classifier.coef_[0])
chosen = np.r_[order[:12], order[-12:]]
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.barh(range(len(chosen)), classifier.coef_[0, chosen], color=["C0"] * 12 + ["C3"] * 12)
ax.set_yticks(range(len(chosen)), vectorizer.get_feature_names_out()[chosen])
ax.set_xlabel("weight: NumPy to the left, SciPy to the right")
