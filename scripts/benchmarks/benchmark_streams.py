"""Errors on streams of every algorithm that has `partial_fit`, with default parameters.

Six kinds of generated streams. Every chunk of 50 samples is predicted before it is learnt
(progressive validation); the first tenth of the stream does not count. Each number is the mean over the
seeds of the share of wrong predictions. The three smallest of a column are marked by `*`.

    stationary  20 features, one hyperplane, no noise
    noisy       the same, with 15 % of the labels flipped: 0.15 is the best that one can do
    turning     the hyperplane turns once around during the stream
    both        it turns, and 15 % of the labels are flipped
    jumping     another hyperplane after every tenth of the stream
    sparse      texts of 40 words out of 5,000 with frequencies as in language, as CSR

`sgd` is scikit-learn's SGDClassifier with the hinge loss, for comparison. docs/streams.md has the
table, where the kinds are called fixed (noisy), drifting (noisy), jumping and sparse.

    python scripts/benchmarks/benchmark_streams.py [--seeds 5] [--chunks 200]
"""

import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

import margins
from margins.text import aligned

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

CHUNK = 50
N_FEATURES, N_WORDS, LENGTH = 20, 5000, 40
NOISE = 0.15
KINDS = ("stationary", "noisy", "turning", "both", "jumping", "sparse")
LABELS = (-1, 1)


def chunks_of(kind, n_chunks, seed):
    """Yield the chunks of a stream: X and y, labels -1 and 1."""
    rng = np.random.default_rng(seed)
    if kind == "sparse":
        yield from _texts(n_chunks, rng)
        return
    target = _direction(rng)
    other = _direction(rng)
    other -= (other @ target) * target
    other /= np.linalg.norm(other)
    for number in range(n_chunks):
        if kind in ("turning", "both"):
            angle = 2 * np.pi * number / n_chunks
            normal = np.cos(angle) * target + np.sin(angle) * other
        elif kind == "jumping" and number and number % max(n_chunks // 10, 1) == 0:
            normal = target = _direction(rng)
        else:
            normal = target
        X = rng.normal(size=(CHUNK, N_FEATURES)) / np.sqrt(N_FEATURES)
        y = np.where(X @ normal > 0, 1, -1)
        if kind in ("noisy", "both"):
            y = np.where(rng.random(CHUNK) < NOISE, -y, y)
        yield X, y


def _direction(rng):
    """Return a random vector of length 1."""
    vector = rng.normal(size=N_FEATURES)
    return vector / np.linalg.norm(vector)


def _texts(n_chunks, rng):
    """Yield texts as scaled counts of their words, and their topic: -1 or 1."""
    frequencies = 1 / np.arange(1, N_WORDS + 1)
    frequencies /= frequencies.sum()
    topic = rng.normal(size=N_WORDS)
    for _ in range(n_chunks):
        words = rng.choice(N_WORDS, p=frequencies, size=(CHUNK, LENGTH))
        values, starts = np.full(words.size, 1 / np.sqrt(LENGTH)), np.arange(0, words.size + 1, LENGTH)
        columns = words.ravel().astype(np.int32)  # SGDClassifier takes no indices of 64 bits
        X = sparse.csr_array((values, columns, starts.astype(np.int32)), shape=(CHUNK, N_WORDS))
        X.sum_duplicates()
        yield X, np.where(topic[words].mean(axis=1) > 0, 1, -1)


def error_of(classifier, kind, n_chunks, seed):
    """Return the share of wrong predictions, each made before its chunk is learnt."""
    wrong, first = [], max(n_chunks // 10, 1)
    for number, (X, y) in enumerate(chunks_of(kind, n_chunks, seed)):
        if number >= first:
            wrong.append(np.mean(classifier.predict(X) != y))
        classifier.partial_fit(X, y, classes=LABELS)
    return float(np.mean(wrong))


def classifier_of(name, seed):
    """Return the classifier of a name, with default parameters."""
    return SGDClassifier(random_state=seed) if name == "sgd" else seeded(margins.get(name)(), seed)


def seeded(classifier, seed):
    """Set the seed of a classifier that has one."""
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=seed)
    return classifier


def main(arguments=None):
    """Print the table."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--seeds", type=int, default=5, metavar="N")
    option("--chunks", type=int, default=200, metavar="N")
    option("--kinds", nargs="+", choices=KINDS, default=KINDS)
    option("--algorithms", nargs="+", metavar="NAME", help="otherwise all with partial_fit")
    options = parser.parse_args(arguments)
    names, columns = options.algorithms or [*margins.available(streaming=True), "sgd"], []
    for kind in options.kinds:
        errors = [
            [
                error_of(classifier_of(name, seed), kind, options.chunks, seed)
                for seed in range(options.seeds)
            ]
            for name in names
        ]
        columns.append(marked([np.mean(of_name) for of_name in errors]))
    print(aligned([["algorithm", *options.kinds], *zip(names, *columns, strict=True)]))


def marked(errors):
    """Return errors as text, the three smallest with a star: list of str."""
    limit = sorted(errors)[:3][-1]
    return [f"{error:.3f}{'*' if error <= limit else ' '}" for error in errors]


if __name__ == "__main__":
    reporting.in_both_environments(main)
