"""The data of Khardon & Wachman's tables: real sets by the paper's names, and the artificial ones.

To multiply all features by a constant changes nothing: w.x, theta_init, C, the unit of tau and the
lambda-trick's offset all grow by its square. So mnist's pixels stay what they are, 0 to 255. A shift
does matter: the file of usps holds v, the original is 2 v - 1, from -1 to 1. Nor is the polynomial
kernel (gamma <x, z> + coef0)^4 free of scale: for it mnist is divided by 255.

The 600 samples of an artificial set are counted before any are discarded (docs/papers.md).
"""

import itertools

import numpy as np
import real_data
from noise_tolerance_tables import ALL_FEATURES, ALL_MARGINS, COPIES, FEATURES, MARGIN
from scipy import sparse

from margins.datasets.generators import make_noisy_halfspace

NOISE = "noise "  # begins the name of an artificial data set
FILES = {"adult": "a9a"}  # name in the paper -> of the files, where they differ
DIGITS = ("mnist", "usps")


def present(name):
    """True if a data set needs no files, or its files are there."""
    return name.startswith(NOISE) or FILES.get(name, name) in real_data.available()


def images(name, part, kernel="linear"):
    """BinaryData and digits of usps (from -1 to 1) or mnist (pixels; from 0 to 1 for a kernel): X, y."""
    dataset = real_data.load(name, part)
    if name == "usps":
        return 2 * dataset.X.toarray() - 1, dataset.y
    return dataset.X if kernel == "linear" else dataset.X / 255, dataset.y


def part_of(name, part, kernel="linear"):
    """Training or test set of what has both: X, y."""
    if name in DIGITS:
        return images(name, part, kernel)
    dataset = real_data.binary(FILES.get(name, name), part)
    return dataset.X, dataset.y


def joined(first, second):
    """Rows of both: dense or csr as `first`."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], "csr")
    return np.vstack([first, second])


def data(name):
    """All of a data set, training and test set joined for the digits: X, y."""
    if name not in DIGITS:
        return part_of(name, "train")
    (X, y), (X_test, y_test) = images(name, "train"), images(name, "test")
    return joined(X, X_test), np.concatenate([y, y_test])


def artificial(noise, seed, n_features=FEATURES, margin=MARGIN):
    """A data set of Tables 2, 4 and 6, by default one of the latter two: X, y."""
    return make_noisy_halfspace(
        n_features, margin=margin, noise=noise, replace_discarded=False, random_state=int(seed)
    )


def all_artificial(noise, seed, n_features=ALL_FEATURES, margins=ALL_MARGINS, generate=artificial):
    """Yield the data sets of a row of Table 2, in the paper 30: X, y."""
    kinds = list(itertools.product(n_features, margins, range(COPIES)))
    seeds = np.random.SeedSequence(seed).generate_state(len(kinds)).tolist()
    for (features, margin, _), own in zip(kinds, seeds, strict=True):
        yield generate(noise, own % 2**32, features, margin)


def permuted(X, y, seed):
    """The samples in a random order: X, y."""
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]
