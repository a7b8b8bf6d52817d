"""One module per kernel function; `margins.kernels.KERNELS` has those that estimators accept by name."""
