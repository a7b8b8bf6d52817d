from typing import Any

from margins.estimators.messages import short_name
from margins.optional import require
from margins.solvers.history import Epoch


class ProgressBar:
    """A progress bar for each binary problem, with the gap proven so far.

    The bars count epochs without a total, because the number of epochs is not known in advance. In
    notebooks the bars are widgets. Needs tqdm: ``pip install tqdm``.

    Parameters
    ----------
    leave : bool
        True: the bars stay after the fit.
    file : file, optional
        File on which the bars are drawn; None: standard error.

    See Also
    --------
    EarlyStopping : Ends a fit.

    Examples
    --------
    >>> import io
    >>> import margins
    >>> from margins.callbacks import ProgressBar
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> file = io.StringIO()
    >>> classifier = margins.get("pdm")(random_state=0)
    >>> if hasattr(classifier, "set_callbacks"):  # since scikit-learn 1.9
    ...     _ = classifier.set_callbacks(ProgressBar(file=file)).fit(X, y)
    ...     assert "pdm" in file.getvalue()
    """

    def __init__(self, leave: bool = True, file: Any = None) -> None:
        self.leave, self.file = leave, file
        self._bars: dict[int, Any] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Start without bars."""
        _tqdm()
        self.teardown(estimator, context)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Close all bars, even if the fit raised an error."""
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Draw the bar of a binary problem at its first epoch."""
        task = getattr(context, "epoch_task", None)
        if task is not None and task.index not in self._bars:
            self._bars[task.index] = _tqdm()(
                desc=f"{short_name(estimator)}{task.which}",
                unit=" epochs",
                position=len(self._bars),
                leave=self.leave,
                file=self.file,
            )

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Advance the bar of a binary problem."""
        task = getattr(context, "epoch_task", None)
        if task is not None and task.index in self._bars:
            bar = self._bars[task.index]
            bar.set_postfix_str(_postfix(task.record), refresh=False)
            bar.update()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_bars": {}}  # bars belong to this process


def _postfix(epoch: Epoch) -> str:
    if epoch.certificate is None:
        return f"{epoch.mistakes} updated samples"
    return f"gap {epoch.certificate.gap:.3g}, fraction {epoch.certificate.fraction:.6g}"


def _tqdm() -> Any:
    return require("ProgressBar", "tqdm.auto").tqdm
