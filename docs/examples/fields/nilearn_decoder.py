"""
Brain images with nilearn
=========================

nilearn's `Decoder` tunes C only for its own classifiers. It trains any other one with the C that it has,
unless you pass a grid. With a grid, the scores of any classifier are the best of the grid on each
left-out fold: above chance even for shuffled labels. `MarginClassifierCV` chooses C by the training
images alone.
"""

import warnings

import matplotlib.pyplot as plt
import nibabel
import numpy as np
from nilearn.decoding import Decoder, SearchLight

import margins

warnings.filterwarnings("ignore", message=".*custom estimator")  # nilearn warns of any

# 80 images of two conditions. In a cube of 27 voxels, the first condition is stronger.
rng = np.random.default_rng(0)
condition = np.tile(["face", "house"], 40)
values = rng.normal(size=(10, 10, 10, 80)).astype(np.float32)
values[2:5, 3:6, 4:7, condition == "face"] += 0.5
images = nibabel.Nifti1Image(values, affine=np.diag([3, 3, 3, 1]))
brain = nibabel.Nifti1Image(np.ones((10, 10, 10), np.uint8), images.affine)


def decoder(estimator, **options):
    """A decoder of all voxels, without nilearn's selection of features."""
    return Decoder(
        estimator, mask=brain, screening_percentile=100, standardize="zscore_sample", **options
    )


selecting = margins.MarginClassifierCV(Cs=np.logspace(-6, 1, 8), cv=4, random_state=0)
ways = {
    "one C": decoder(margins.MarginClassifier(C=1e-3, random_state=0), cv=4),
    "param_grid": decoder(
        margins.MarginClassifier(random_state=0), cv=4, param_grid={"C": np.logspace(-6, 1, 8)}
    ),
    "MarginClassifierCV": decoder(selecting, cv=4),
}

# %%
# The scores on labels that are shuffled 20 times should be 0.5 on average:
for name, model in ways.items():
    shuffled = [model.fit(images, rng.permutation(condition)).cv_scores_["face"] for _ in range(20)]
    true = model.fit(images, condition).cv_scores_["face"]
    print(f"{name:<20}area under the curve {np.mean(true):.3f}, shuffled {np.mean(shuffled):.3f}")

# %%
# The decoder's weights are means over its folds. To have a proof, fit the same classifier to all images,
# which the decoder's masker turns into a matrix:
X = ways["MarginClassifierCV"].masker_.transform(images)
classifier = selecting.fit(X, condition)
print(f"{X.shape[0]} images, {X.shape[1]} voxels, C = {classifier.C_:.1g}")
print(classifier.certificates_[0])

# %%
# A searchlight trains a classifier around each voxel, here of one slice. For two classes, nilearn 0.14.1
# stores the weights of each under the name of the other, whichever classifier computed them.
plane = np.zeros((10, 10, 10), np.uint8)
plane[:, :, 5] = 1
light = SearchLight(
    brain,
    process_mask_img=nibabel.Nifti1Image(plane, images.affine),
    radius=4,
    estimator=margins.MarginClassifier(C=1e-2, random_state=0),
    cv=4,
).fit(images, condition)
weights = -ways["MarginClassifierCV"].coef_img_["face"].get_fdata()

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
maps = {"weight, towards face": weights[:, :, 5], "accuracy of the searchlight": light.scores_[:, :, 5]}
for ax, (title, values) in zip(axes, maps.items(), strict=True):
    drawn = ax.imshow(values.T, origin="lower")
    ax.add_patch(plt.Rectangle((1.5, 2.5), 3, 3, fill=False, edgecolor="white"))
    ax.set_title(title)
    figure.colorbar(drawn, ax=ax)
