"""Training on samples that are never all in memory at once, by sums over partitions.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k), with the samples y_k in partitions, that
is, chunks of a file or parts of a distributed array. Everything that a Newton step needs from the
samples is a sum over them, so partitions return sums and the client solves:

    samples    reads a partition, checks it, and counts its samples
    partition  one partition: its binary problems and their losses
    requests   the sums: values, gradients and Hessians at w; slopes along a step; products
    work       the functions that run where the partition is, and what it keeps between passes
    executors  run these functions on all partitions: in threads, by dask, or on a cluster
    newton     the steps of one binary problem, on the client
    fit        one fit: the scan, a subsample to start from, the steps of all binary problems

Rule-based algorithms process single samples, so they read one partition at a time:

    streamed   X with one partition in memory at a time; copies of the rows of active sets
    run        full epochs over partitions, with nested active sets over the copies

A partition's part of the sums is a function of the samples and of a few vectors. The products w.y_k and
the dual variables that it keeps only save passes. If they are lost, because a process ends or the
partition moves, they are computed again from the samples and the weight vectors that led to them.

**Source**: Mangasarian (2002), A finite Newton method for classification; Yan & Li (2020), An efficient
augmented Lagrangian method for support vector machine; Chu et al. (2006), Map-reduce for machine
learning on multicore.
"""
