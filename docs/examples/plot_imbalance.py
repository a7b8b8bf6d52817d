"""
Imbalanced classes
==================

One sample in twenty is positive. `class_weight` multiplies the penalty `C` class by class, which trades
precision for recall. The certificate is for the weighted problem.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import PrecisionRecallDisplay, precision_score, recall_score
from sklearn.model_selection import train_test_split

import margins

X, y = make_classification(
    4000, n_features=10, n_informative=5, weights=[0.95], class_sep=0.8, flip_y=0.02, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for weight in (None, {1: 5}, "balanced"):
    classifier = margins.MarginClassifier(class_weight=weight, random_state=0).fit(X_train, y_train)
    PrecisionRecallDisplay.from_estimator(classifier, X_test, y_test, ax=ax, name=f"{weight}")
    predicted = classifier.predict(X_test)
    precision, recall = precision_score(y_test, predicted), recall_score(y_test, predicted)
    ax.plot(recall, precision, "o", color=ax.lines[-1].get_color())
    print(f"class_weight={weight!s:9} precision {precision:.2f}, recall {recall:.2f}")
ax.set_title("The circles are where the classifier decides")
