"""Losses at multiples of a weight vector: nothing for other kernels."""
