"""
Covariance matrices with pyRiemann
==================================

Riemannian kernels compare covariance matrices in the tangent space at a reference. Pass the mean of the
training matrices as `Cref`, for training and prediction alike. By default the reference is the mean of
the *first* argument: of the trials to predict. Their scores then shift, and a single trial, which is its
own reference, always has the same score.
"""

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.estimation import Covariances
from pyriemann.geometry.kernel import kernel_riemann
from pyriemann.geometry.mean import mean_riemann
from pyriemann.tangentspace import TangentSpace

import margins

# Trials of 8 channels. The classes differ in the strength of two of the 8 sources that the channels mix.
rng = np.random.default_rng(0)
mixing = rng.normal(size=(8, 8))


def trials(classes):
    """Covariance matrices of trials with 200 times each."""
    sources = rng.normal(size=(len(classes), 8, 200))
    sources[:, 0] *= np.where(classes == 1, 1.2, 1.0)[:, None]
    sources[:, 1] *= np.where(classes == 1, 1.0, 1.1)[:, None]
    return Covariances("oas").transform(mixing @ sources)


y = np.repeat([0, 1], 60)
y_new = np.repeat([0, 1], [20, 80])  # other shares of the classes than in training
train, new = trials(y), trials(y_new)

reference = mean_riemann(train)
K = kernel_riemann(train, Cref=reference)
classifier = margins.MarginClassifier(
    kernel="precomputed", loss="hinge", penalize_intercept=False, eps=1e-3, random_state=0
)
print(classifier.fit(K, y).certificates_[0])

# %%
# A row for each new trial, a column for each one of training:
scores = {
    "Cref=reference": classifier.decision_function(kernel_riemann(new, train, Cref=reference)),
    "no Cref": classifier.decision_function(kernel_riemann(new, train)),
    "no Cref, one trial at a time": np.concatenate(
        [classifier.decision_function(kernel_riemann(trial[None], train)) for trial in new]
    ),
}
for name, values in scores.items():
    print(f"{name:<30}accuracy {np.mean((values > 0) == y_new):.2f}, mean score {values.mean():+.2f}")

# %%
# The same problem without a kernel: a linear classifier of tangent vectors. It needs no matrix of all
# pairs of trials.
tangent = TangentSpace().fit(train)
linear = margins.MarginClassifier(loss="hinge", penalize_intercept=False, eps=1e-3, random_state=0)
print(linear.fit(tangent.transform(train), y).certificates_[0])
difference = linear.decision_function(tangent.transform(new)) - scores["Cref=reference"]
print(f"largest difference of a score: {np.abs(difference).max():.1e}")

# %%
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
rows = list(scores)[::-1]
for row, name in enumerate(rows):
    ax.scatter(scores[name], row + rng.uniform(-0.2, 0.2, 100), c=np.where(y_new == 1, "C1", "C0"), s=12)
ax.axvline(0, color="grey", lw=1)
ax.set_yticks(range(3), rows)
ax.set_xlabel("score, coloured by the true class")
