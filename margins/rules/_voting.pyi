import numpy as np
from numpy.typing import NDArray

def count_votes(
    products: NDArray[np.float64],
    mistakes: NDArray[np.int32],
    labels: NDArray[np.float64],
    votes: NDArray[np.int64],
    theta: float,
    sqrho: float,
) -> NDArray[np.float64]: ...
def tail_errors(
    products: NDArray[np.float64],
    mistakes: NDArray[np.int32],
    labels: NDArray[np.float64],
    votes: NDArray[np.int64],
    theta: float,
    sqrho: float,
    truth: NDArray[np.int8],
) -> NDArray[np.int64]: ...
