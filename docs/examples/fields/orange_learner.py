"""
A learner in Orange
===================

Two lines make an Orange learner of a scikit-learn classifier. But scores are not probabilities: for a
classifier without `predict_proba`, Orange calls every predicted class certain and computes the area
under the curve from labels. Wrap `MarginClassifierCV` with `calibration` instead. It also chooses C.
"""

import matplotlib.pyplot as plt
from Orange.classification.base_classification import SklLearnerClassification
from Orange.data import Table
from Orange.evaluation import AUC, CA, CrossValidation
from Orange.preprocess import Scale

import margins


class MarginLearner(SklLearnerClassification):
    __wraps__ = margins.MarginClassifier
    name = "MarginClassifier"
    preprocessors = [*SklLearnerClassification.preprocessors, Scale()]  # after imputing and encoding


class CalibratedLearner(MarginLearner):
    __wraps__ = margins.MarginClassifierCV
    name = "MarginClassifierCV, calibrated"

    def __init__(self, **params):
        super().__init__()
        self.params = params


# %%
# Orange ships the data: 303 patients with numbers, categories and missing values.
data = Table("heart_disease")
learners = [MarginLearner(), CalibratedLearner(calibration="sigmoid", random_state=0)]
results = CrossValidation(k=10, random_state=0)(data, learners)
for learner, accuracy, area in zip(learners, CA(results), AUC(results), strict=True):
    print(f"{learner.name:<31}accuracy {accuracy:.3f}, area under the curve {area:.3f}")

# %%
# What Orange calls probabilities, of the first patients:
models = [learner(data) for learner in learners]
for model in models:
    print(model(data[:4], model.Probs).round(2).tolist())

# %%
# `skl_model` is the classifier of this package:
for model in models:
    print(model.skl_model.certificates_[0])

# %%
# The columns are those of the domain that the model was trained on, after the preprocessors.
fitted = models[1]
weights = fitted.skl_model.coef_[0]
order = abs(weights).argsort()[-12:]
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.barh([fitted.domain.attributes[i].name for i in order], weights[order])
ax.set_xlabel(f"weight, towards {fitted.domain.class_var.name} = {fitted.domain.class_var.values[1]}")
