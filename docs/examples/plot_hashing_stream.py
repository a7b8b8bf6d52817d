"""
Hashed text, chunk by chunk
===========================

Texts are generated and hashed to 2^20 features each time they are read; neither the texts nor their
features are ever all in memory. The fit reads all chunks a few times and ends with a certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import margins
from margins.data.chunks import Chunks

# Words, their frequencies, and what each says about the topic of a text.
rng = np.random.default_rng(0)
letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
words = np.array(["".join(word) for word in rng.choice(letters, size=(5000, 6))])
sums = np.cumsum(1 / np.arange(1, 5001))
topic = rng.normal(size=5000)
vectorizer = HashingVectorizer(n_features=2**20, alternate_sign=False)


def texts(seed, n=500, length=40):
    """Texts of random words, and their labels: by the topic of their words, with noise."""
    rng = np.random.default_rng(seed)
    chosen = np.searchsorted(sums, rng.uniform(0, sums[-1], size=(n, length)))
    scores = topic[chosen].mean(axis=1) + 0.05 * rng.normal(size=n)
    return [" ".join(words[row]) for row in chosen], np.where(scores > 0, "sport", "politics")


def reader(seed):
    """A function that reads a chunk, the same whenever it is called."""

    def read():
        documents, labels = texts(seed)
        return vectorizer.transform(documents), labels

    return read


chunks = Chunks([reader(seed) for seed in range(6)])
classifier = margins.MarginClassifier(eps=0.01, verbose=1, random_state=0).fit(chunks)

# %%
# The proof covers all training samples. The accuracy is measured on other texts.
certificate = classifier.certificates_[0]
print(f"objective {certificate.primal:.6g}, the optimum is at least {certificate.dual:.6g}")
test = Chunks([reader(seed) for seed in range(1000, 1003)])
print(f"{classifier.n_iter_} passes, accuracy on other texts {classifier.score(test):.3f}")

gaps = [epoch.certificate.gap for epoch in classifier.learning_curve_[0]]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogy(range(2, len(gaps) + 2), gaps, marker="o")
ax.set_xlabel("pass over the chunks; the first one checks them")
ax.set_ylabel("relative duality gap proven")
