r"""
A lecture: the perceptron, and how its margin is proven
=======================================================

This page teaches the perceptron on an example in the plane. It draws every update, compares the number
of updates with Novikoff's bound, and then asks for more than separation: a large margin, with a proof.
Download it as a notebook at the end of the page.

The problem
-----------

Samples :math:`x_k` belong to two classes, with labels :math:`l_k = -1` or :math:`1`. We look for a
weight vector :math:`w` with :math:`l_k\, w \cdot x_k > 0` for all of them. To keep pictures simple, the
hyperplane goes through the origin: there is no intercept.

It is convenient to reflect each sample by its label, :math:`y_k = l_k x_k`. The condition is then
:math:`w \cdot y_k > 0`: all reflected samples lie on one side.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins
from margins.bounds import perceptron_updates
from margins.plotting import CertificateDisplay

X = np.array(
    [[0.6, 1], [-2.5, 2.5], [0.8, 2], [-2.4, 1.9], [-2, -2.5], [-0.7, -0.4], [-2.1, -0.9], [-1, 2.5]]
)
y = np.array([1, -1, 1, -1, -1, -1, -1, 1])
reflected = y[:, None] * X
COLOURS = {1: "#0072B2", -1: "#D55E00"}


def draw_samples(ax):
    """Draw the samples, a marker and a colour for each class."""
    for label, marker in ((1, "o"), (-1, "s")):
        ax.scatter(*X[y == label].T, color=COLOURS[label], marker=marker, s=24)
    ax.axhline(0, color="0.9", zorder=0)
    ax.axvline(0, color="0.9", zorder=0)
    ax.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal", xticks=[], yticks=[])


def draw_direction(ax, w, **style):
    """Draw an arrow in the direction of w."""
    tip = 2 * w / np.linalg.norm(w)
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "linewidth": 1.6, **style})


def draw_hyperplane(ax, w, **style):
    """Draw the line on which w.x is 0."""
    ends = np.outer([-9, 9], [-w[1], w[0]]) / np.linalg.norm(w)
    ax.plot(*ends.T, **{"color": "0.3", "linewidth": 1.2, **style})


# %%
# The algorithm
# -------------
#
# Rosenblatt's perceptron (1958) starts at :math:`w = 0` and visits the samples in turn. If a sample is
# misclassified, :math:`w \cdot y_k \le 0`, it is added: :math:`w \leftarrow w + y_k`. A round without a
# mistake ends the run.
w, updates = np.zeros(2), []
made_a_mistake = True
while made_a_mistake:
    made_a_mistake = False
    for k, y_k in enumerate(reflected):
        if w @ y_k <= 0:
            updates.append((k, w, w + y_k))
            w = w + y_k
            made_a_mistake = True

# %%
# Each picture shows one update: the misclassified sample in a ring, the direction of the weight vector
# before (dashed) and after (solid), and the hyperplanes that belong to them. An update turns the
# weight vector towards the sample. It may turn too far, or misclassify another sample, which is then
# added in turn.
n_columns = 3
n_rows = -(-len(updates) // n_columns)
figure, axes = plt.subplots(
    n_rows, n_columns, figsize=(7.5, 2.7 * n_rows), layout="constrained", squeeze=False
)
for number, (ax, (k, before, after)) in enumerate(zip(axes.flat, updates, strict=False), start=1):
    draw_samples(ax)
    ax.scatter(*X[k], s=130, facecolors="none", edgecolors="k")
    if before.any():
        draw_hyperplane(ax, before, linestyle="--", color="0.7")
        draw_direction(ax, before, linestyle="--", color="0.6")
    draw_hyperplane(ax, after)
    draw_direction(ax, after)
    ax.set_title(f"update {number}: sample {k}", fontsize=9)
for ax in axes.flat[len(updates) :]:
    ax.set_axis_off()

# %%
# ``margins.get("perceptron")`` runs the same algorithm, and finds the same weights.
classifier = margins.get("perceptron")(fit_intercept=False, shuffle="never").fit(X, y)
print(f"{len(updates)} updates, weights {w}")
print(f"{classifier.n_updates_} updates, weights {classifier.coef_[0]}")

# %%
# How many updates can there be?
# ------------------------------
#
# Let :math:`R` be the norm of the longest sample, and :math:`\gamma` the maximum margin: the largest
# number such that some unit vector :math:`u` has :math:`u \cdot y_k \ge \gamma` for all samples.
# Novikoff (1962) followed two quantities through the run.
#
# - Each update adds at least :math:`\gamma` to :math:`u \cdot w`. After :math:`t` updates,
#   :math:`u \cdot w \ge \gamma t`.
# - Each update adds at most :math:`R^2` to :math:`|w|^2`, since the mixed term is not positive. After
#   :math:`t` updates, :math:`|w|^2 \le R^2 t`.
#
# As :math:`u \cdot w \le |w|`, we get :math:`\gamma t \le R \sqrt t`, so :math:`t \le (R / \gamma)^2`,
# however the samples are ordered. The maximum margin comes from a fit with a proof, which we will
# understand further below.
best = margins.MarginClassifier(C=np.inf, fit_intercept=False, eps=1e-6).fit(X, y)
gamma = best.certificates_[0].margin
R = np.linalg.norm(X, axis=1).max()
print(f"R = {R:.2f}, maximum margin {gamma:.3f}")
print(f"at most {perceptron_updates(R, gamma):.0f} updates; this run made {len(updates)}")

# %%
# The bound holds for the worst samples in the worst order, so most runs make fewer updates. A thousand
# random orders of our samples:
rng = np.random.default_rng(0)
counts = []
for _ in range(1000):
    order = rng.permutation(len(y))
    run = margins.get("perceptron")(fit_intercept=False, shuffle="never").fit(X[order], y[order])
    counts.append(run.n_updates_)
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.hist(counts, bins=np.arange(0.5, max(counts) + 1), color="#56B4E9")
ax.axvline(perceptron_updates(R, gamma), color="k", linestyle="--", label=r"bound, $(R / \gamma)^2$")
ax.set(xlabel="updates", ylabel="orders of the samples")
ax.legend()

# %%
# Margins
# -------
#
# The perceptron stops at the first hyperplane that separates the samples, however close it is to one of
# them. The margin of a hyperplane is the distance of the closest sample,
#
# .. math:: \text{margin}(w) = \min_k \frac{w \cdot y_k}{|w|}.
#
# A perceptron that also adds samples with too small a margin finds a better hyperplane. The perceptron
# with dynamic margin (Panagiotakopoulos & Tsampouka, 2011) adds a sample if :math:`w \cdot y_k \le (1
# - \varepsilon) |w|^2 / t`, and reaches at least :math:`(1 - \varepsilon)\gamma`.
figure, axes = plt.subplots(1, 3, figsize=(7.5, 2.9), layout="constrained")
runs = {"perceptron": classifier}
for eps in (0.5, 0.01):
    run = margins.get("pdm")(eps=eps, C=np.inf, fit_intercept=False, random_state=0).fit(X, y)
    runs[f"pdm, eps={eps}"] = run
for ax, (name, run) in zip(axes, runs.items(), strict=True):
    draw_samples(ax)
    normal = run.coef_[0] / np.linalg.norm(run.coef_)
    margin = (reflected @ normal).min()
    draw_hyperplane(ax, normal)
    for side in (-1, 1):
        ends = np.outer([-9, 9], [-normal[1], normal[0]]) + side * margin * normal
        ax.plot(*ends.T, color="0.5", linewidth=0.8, linestyle=":")
    ax.set_title(f"{name}\nmargin {margin:.3f}, {run.n_updates_} updates", fontsize=9)

# %%
# The dual: a bound from above
# ----------------------------
#
# How do we know that no hyperplane has a larger margin than the last one? A perceptron's weight vector
# is a sum of samples, :math:`w = \sum_k \alpha_k y_k`, where :math:`\alpha_k \ge 0` counts the updates
# by sample :math:`k`. For every unit vector :math:`u`,
#
# .. math:: |w| \ge u \cdot w = \sum_k \alpha_k\, u \cdot y_k \ge \text{margin}(u) \sum_k \alpha_k .
#
# So :math:`|w| / \sum_k \alpha_k` is an upper bound on the margin of every hyperplane, whatever the
# :math:`\alpha_k` are. They are the dual variables of the maximum-margin problem. Every run has them,
# so the bound is free. For the six updates above:
alpha = np.bincount([k for k, _, _ in updates], minlength=len(y))
print(f"updates by each sample: {alpha}")
print(f"margin of the perceptron {(reflected @ w).min() / np.linalg.norm(w):.3f}")
print(f"no margin is larger than {np.linalg.norm(w) / alpha.sum():.3f}")

# %%
# Certificates
# ------------
#
# The two numbers are a certificate: the margin achieved and its upper bound. They are a proof of how
# close the classifier is to the best one, and the proof does not depend on how the weights were found.
# Every fit of this library ends with one, for soft margins and kernels as well:
for name, run in {**runs, "MarginClassifier": best}.items():
    certificate = run.certificates_[0]
    print(f"{name:16}  margin {certificate.margin:.4f}, at most {certificate.upper_bound:.4f}")

# %%
# During a run, the two bounds close on each other. On more samples it takes longer, so the picture
# shows a run on 200 samples of two overlapping classes, with a soft margin. :doc:`/certificates`
# derives the bounds for soft margins, for the hinge loss and for a free intercept.
rng = np.random.default_rng(1)
many = rng.normal(size=(200, 2)) + np.where(rng.random(200) < 0.5, 1.0, -1.0)[:, None]
labels = np.where(many.sum(axis=1) + rng.normal(size=200) > 0, 1, -1)
run = margins.get("pdm-succ")(C=1.0, eps=0.01, random_state=0).fit(many, labels)
CertificateDisplay.from_estimator(run)
