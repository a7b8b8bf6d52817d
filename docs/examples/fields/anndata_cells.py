"""
Cells with anndata
==================

A matrix in memory needs nothing special. If you open the file with `backed="r"`, its sparse matrix stays
on disk, and no classifier takes it for a matrix. Read it in chunks, or open the file with `read_lazy`.
The whole matrix is then never in memory, and the certificate covers all cells.
"""

import tempfile
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata.experimental import read_lazy
from scipy import sparse

import margins
from margins.data.chunks import Chunks

# Counts of 3,000 cells and 500 genes. Each type has 10 genes of which it makes three times as much.
rng = np.random.default_rng(0)
types, genes = ["B", "NK", "T"], [f"gene {i}" for i in range(500)]
kind = rng.choice(3, 3000, p=[0.3, 0.1, 0.6])
rates = np.tile(rng.gamma(0.3, size=500), (3, 1))
for i in range(3):
    rates[i, 10 * i : 10 * i + 10] *= 3
cells = anndata.AnnData(
    sparse.csr_matrix(rng.poisson(rates[kind]).astype(np.float32)),
    obs=pd.DataFrame({"cell_type": np.array(types)[kind]}, index=[f"cell {i}" for i in range(3000)]),
    var=pd.DataFrame(index=genes),
)
path = Path(tempfile.mkdtemp(), "cells.h5ad")
cells.write_h5ad(path)

# %%
# In memory: `X` of the file is a CSR matrix, and a column of `obs` has the labels.
classifier = margins.MarginClassifier(C=0.01, eps=1e-5, random_state=0)
in_memory = classifier.fit(np.log1p(cells.X), cells.obs["cell_type"]).coef_
for name, certificate in zip(classifier.classes_, classifier.certificates_, strict=True):
    print(f"{name:<4}{certificate}")

# %%
# On disk: `Chunks.of_rows` reads a part of a backed matrix at a time, here 500 cells.
backed = anndata.read_h5ad(path, backed="r")
y = backed.obs["cell_type"].to_numpy()
try:
    classifier.fit(backed.X, y)
except ValueError as error:
    print(error)
chunks = Chunks.of_rows(backed.X, y, n_rows=500).map(np.log1p)
print(classifier.fit(chunks).certificates_[0])
print(f"largest difference of a weight: {np.abs(classifier.coef_ - in_memory).max():.1e}")

# %%
# Lazily: `X` is a dask array of CSR matrices. `fit` reads its blocks, a few at a time, and `predict`
# returns a dask array.
lazy = read_lazy(path)
X = lazy.X.map_blocks(np.log1p)
print(classifier.fit(X, y).certificates_[0])
print(classifier.predict(X)[:5].compute())

# %%
figure, ax = plt.subplots(figsize=(8, 2.4), layout="constrained")
largest = np.abs(classifier.coef_[:, :40]).max()
drawn = ax.imshow(classifier.coef_[:, :40], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
ax.set_yticks(range(3), classifier.classes_)
ax.set_xlabel("gene")
figure.colorbar(drawn, label="weight")
