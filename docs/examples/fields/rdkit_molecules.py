"""
Molecules with RDKit
====================

The Tanimoto similarity of fingerprints is a kernel, which a classifier takes as a matrix. Not every
similarity is a kernel: `fit` checks the matrix. It refuses one that is not symmetric, which `SVC` takes
without a word.
"""

import matplotlib.pyplot as plt
import numpy as np
from rdkit.Chem import Crippen, MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.DataStructs import BulkTanimotoSimilarity, BulkTverskySimilarity
from sklearn.svm import SVC

import margins

SMILES = """
    CCO CCN CCC CCCCC CCCCCC c1ccccc1 Cc1ccccc1 Oc1ccccc1 Nc1ccccc1 OC(=O)c1ccccc1 CC(=O)O CC(=O)C
    CCOC(C)=O CC(C)O CCCCO CCCCCCO OCCO OCC(O)CO CC(C)(C)O C1CCCCC1 OC1CCCCC1 c1ccncc1
    c1ccc2ccccc2c1 Clc1ccccc1 Brc1ccccc1 CCCl ClCCl FC(F)(F)c1ccccc1 CC(N)=O NCC(=O)O CC(N)C(=O)O
    NC(N)=O CN(C)C=O CS(C)=O OCC1OC(O)C(O)C(O)C1O CC(=O)Nc1ccc(O)cc1 CC(=O)Oc1ccccc1C(=O)O
    CC(C)Cc1ccc(cc1)C(C)C(=O)O Cn1cnc2c1c(=O)n(C)c(=O)n2C CCCCCCCC CCCCCCCCO CCCCCCCC(=O)O
    c1ccc(cc1)-c1ccccc1 COc1ccccc1 CCN(CC)CC C1CCNCC1 C1COCCN1 C1CCOC1 OC(=O)CC(=O)O OC(=O)CCC(=O)O
    CC(O)C(=O)O
"""
molecules = [MolFromSmiles(text) for text in SMILES.split()]
fingerprints = list(GetMorganGenerator(radius=2).GetFingerprints(molecules))
log_p = np.array([Crippen.MolLogP(molecule) for molecule in molecules])
y = np.where(
    log_p > 1.2, "oily", "polar"
)  # log P: how much better it dissolves in octanol than in water

K = np.array([BulkTanimotoSimilarity(one, fingerprints) for one in fingerprints])
classifier = margins.MarginClassifier(
    kernel="precomputed", loss="hinge", penalize_intercept=False, eps=1e-3, random_state=0
)
classifier.fit(K, y)
print(f"{len(y)} molecules, {len(classifier.support_)} support vectors")
print(classifier.certificates_[0])

# %%
# There are too few molecules to set some aside. The leave-one-out error needs no further fits:
print(margins.leave_one_out(classifier, K, y))

# %%
# The rows of new molecules hold their similarities to the training molecules, in their order:
new = GetMorganGenerator(radius=2).GetFingerprints(
    [MolFromSmiles("CCc1ccccc1"), MolFromSmiles("OCC(N)C(=O)O")]
)
print(classifier.predict(np.array([BulkTanimotoSimilarity(one, fingerprints) for one in new])))

# %%
# Tversky's similarity has a weight for each of the two molecules. Unless the weights are equal, it is no
# kernel:
tversky = np.array([BulkTverskySimilarity(one, fingerprints, 0.9, 0.1) for one in fingerprints])
print("SVC fits it:", SVC(kernel="precomputed").fit(tversky, y).score(tversky, y))
try:
    classifier.fit(tversky, y)
except ValueError as error:
    print("MarginClassifier:", error)

# %%
scores = classifier.fit(K, y).decision_function(K)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name in classifier.classes_:
    ax.scatter(log_p[y == name], scores[y == name], label=name)
for value in (-1, 0, 1):
    ax.axhline(value, color="grey", lw=1, ls="-" if value == 0 else "--")
ax.set_xlabel("log P")
ax.set_ylabel(f"score, towards {classifier.classes_[1]}")
ax.legend()
