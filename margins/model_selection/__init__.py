"""Studies: parameter search and double cross-validation as one call.

>>> from margins.model_selection import double_cross_validation  # doctest: +ELLIPSIS
>>> study = double_cross_validation(classifier, {"tau": [0, 0.5, 1]}, X, y)  # doctest: +SKIP
>>> print(study.summary())  # doctest: +SKIP

The modules, in the order of a study:

- `search`: the two protocols. `checks`: their arguments. `grids`: the settings. `folds`: the rows.
- `engine`: all splits and settings, round by round (`rounds`) as `tasks` that joblib runs (`running`).
  `cache`, `keys`, `records`: results on disk.
- Fits together, with the same results as alone: `lockstep` (perceptrons), `study_paths` (values of C).
- `scoring`: metrics. `study`, `tables`: results. `compare`, `intervals`, `ranks`: statistics.

Selection of C by one classifier: `classifier_cv`, with its folds along C in memory (`fold_paths`) or in
partitions (`partitioned_folds`), and probabilities (`calibration`).

Proofs of generalisation: `leave_one_out`, and `pac` for streams. Tests of chance: `permutation`, whose
fits share inner products (`gram_folds`).
"""

from margins.model_selection.compare import Comparison, compare
from margins.model_selection.grids import Halving, Stages
from margins.model_selection.intervals import ConfidenceInterval, corrected_interval, t_interval
from margins.model_selection.leave_one_out import LeaveOneOut
from margins.model_selection.pac import online_to_pac
from margins.model_selection.permutation import PermutationTest, permutation_test
from margins.model_selection.ranks import PairTest, Ranking, rank
from margins.model_selection.search import double_cross_validation, parameter_search
from margins.model_selection.study import Fold, Study, Table
from margins.model_selection.tasks import FitFailed

__all__ = [
    "Comparison",
    "ConfidenceInterval",
    "FitFailed",
    "Fold",
    "Halving",
    "LeaveOneOut",
    "PairTest",
    "PermutationTest",
    "Ranking",
    "Stages",
    "Study",
    "Table",
    "compare",
    "corrected_interval",
    "double_cross_validation",
    "online_to_pac",
    "parameter_search",
    "permutation_test",
    "rank",
    "t_interval",
]
