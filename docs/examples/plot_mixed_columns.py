"""
Numbers and categories in one table
===================================

A table has columns of numbers and of categories, with missing values. A pipeline imputes, scales and
encodes them; the classifier gets the sparse matrix of the encoder.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import margins

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n).astype(float),
        "income": rng.lognormal(10, 0.6, n),
        "city": rng.choice(["north", "south", "east", "west"], n),
        "plan": rng.choice(["basic", "plus", "pro"], n, p=[0.6, 0.3, 0.1]),
    }
)
score = 0.04 * (table.age - 45) + 2 * (table.plan == "pro") - (table.city == "north")
score += rng.normal(size=n)
label = np.where(score > 0, "stays", "leaves")
table.loc[rng.random(n) < 0.05, "income"] = np.nan

columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, margins.MarginClassifier(random_state=0))
search = GridSearchCV(model, {"marginclassifier__C": [0.01, 0.1, 1, 10]}).fit(table, label)
print(f"C = {search.best_params_['marginclassifier__C']}, accuracy {search.best_score_:.3f}")

# %%
best = search.best_estimator_
names = best[0].get_feature_names_out()
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(names, best[-1].coef_[0])
ax.set_xlabel(f"weight, towards {best.classes_[1]}")
