"""
EEG over time with MNE-Python
=============================

`SlidingEstimator` trains a classifier for each time point. MNE's data are in volts, some 1e-5,
and their squares are so small that a model with the usual C is constant. The area under the curve does
not show it, since it only compares scores, but all predictions are the larger class. Scale the channels.
"""

import matplotlib.pyplot as plt
import mne
import numpy as np
from mne.decoding import LinearModel, SlidingEstimator, cross_val_multiscore, get_coef
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import margins

mne.set_log_level("ERROR")

# 200 trials, of which 50 are targets: a source below P4 is active at 250 ms. Another one at P8 is noise.
CHANNELS = "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 Oz O2"
channels = CHANNELS.split()
info = mne.create_info(channels, sfreq=100, ch_types="eeg").set_montage("standard_1020")
place = np.array([channel["loc"][:3] for channel in info["chs"]])


def spread(name, width):
    """Strength of a source on all channels. The width is in metres."""
    return np.exp(-(((place - place[channels.index(name)]) / width) ** 2).sum(axis=1))


rng = np.random.default_rng(0)
times, target = np.arange(-20, 60) / 100, np.arange(200) % 4 == 0
X = rng.normal(size=(200, 20, 80)) + 4 * spread("P8", 0.06)[:, None] * rng.normal(size=(200, 1, 80))
course = np.exp(-(((times - 0.25) / 0.06) ** 2))
X[target] += 2 * np.outer(spread("P4", 0.05), course)
events = np.column_stack([np.arange(200), np.zeros(200, int), target])
epochs = mne.EpochsArray(1e-5 * X, info, events, times[0], event_id={"standard": 0, "target": 1})
X, y = epochs.get_data(), epochs.events[:, 2]

# %%
# The same classifier, with and without scaled channels:
model = LinearModel(margins.MarginClassifier(C=0.1, random_state=0))
ways = {"volts": make_pipeline(model), "scaled": make_pipeline(StandardScaler(), model)}
curves = {}
for name, way in ways.items():
    for metric in ("roc_auc", "balanced_accuracy"):
        sliding = SlidingEstimator(way, scoring=metric)
        curves[name, metric] = cross_val_multiscore(sliding, X, y, cv=5).mean(axis=0)
        print(f"{name:<8}{metric:<18}{curves[name, metric].max():.3f} at its best time")

# %%
# Each time point has a certificate. The model of volts is optimal, and as good as a constant one:
at = int(np.argmin(abs(times - 0.25)))
fitted = {name: SlidingEstimator(way).fit(X, y) for name, way in ways.items()}
for name, sliding in fitted.items():
    print(f"{name:<9}{sliding.estimators_[at][-1].model_.certificates_[0]}")
constant = margins.MarginClassifier(C=0.1, random_state=0).fit(np.zeros_like(X[..., at]), y)
print(f"constant {constant.certificates_[0]}")

# %%
# Weights also cancel noise: the classifier subtracts what is at P8. Patterns show only the source.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), width_ratios=(2, 1, 1), layout="constrained")
for (name, metric), curve in curves.items():
    style = "--" if metric == "roc_auc" else "-"
    axes[0].plot(times, curve, style, color="C1" if name == "volts" else "C0", label=f"{name}, {metric}")
axes[0].set(xlabel="seconds", ylim=(0.3, 1.1))
axes[0].legend(ncols=2, loc="upper left", fontsize="small")
for ax, kind in zip(axes[1:], ("filters_", "patterns_"), strict=True):
    values = get_coef(fitted["scaled"], kind, inverse_transform=True)[:, at]
    mne.viz.plot_topomap(values, info, axes=ax, show=False)
    ax.set_title({"filters_": "weights", "patterns_": "patterns"}[kind])
