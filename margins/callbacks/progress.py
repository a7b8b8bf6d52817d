"""A bar for every binary problem of a fit."""

from __future__ import annotations

from typing import Any

from margins.estimators.messages import short_name
from margins.solvers.history import Epoch


class ProgressBar:
    """A bar of progress for each binary problem, with the gap that is proven so far.

    Epochs are counted; how many a fit needs is not known before its proof. In notebooks the bars are
    widgets. It needs tqdm: ``pip install 'scikit-margins[progress]'``.

    Parameters
    ----------
    leave : bool
        True: the bars stay when the fit has ended.
    file : file, optional
        Where they are drawn; None: standard error.

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
    >>> if hasattr(classifier, "set_callbacks"):  # of scikit-learn 1.9
    ...     _ = classifier.set_callbacks(ProgressBar(file=file)).fit(X, y)
    ...     assert "pdm" in file.getvalue()
    """

    def __init__(self, leave: bool = True, file: Any = None) -> None:
        self.leave, self.file = leave, file
        self._bars: dict[int, Any] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin without bars."""
        _tqdm()
        self.teardown(estimator, context)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Close all bars, also of a fit that has raised an error."""
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Draw the bar of a binary problem with its first epoch."""
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
        return {**vars(self), "_bars": {}}  # those of this process


def _postfix(epoch: Epoch) -> str:
    if epoch.certificate is None:
        return f"{epoch.mistakes} updated samples"
    return f"gap {epoch.certificate.gap:.3g}, fraction {epoch.certificate.fraction:.6g}"


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("ProgressBar needs tqdm: pip install 'scikit-margins[progress]'") from error
    return tqdm
