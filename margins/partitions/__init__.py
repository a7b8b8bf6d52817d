"""Fits of samples that are never in memory as a whole: sums over partitions, and steps made of them.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k) where the samples y_k are in partitions,
chunks of a file or parts of a distributed array. Everything that a Newton step reads of the samples is a
sum over them, so partitions return sums and the client solves:

    samples    reads a partition, checks it, and counts what is in it
    store      what a partition keeps between passes, a number or two per sample
    partition  one partition: its binary problems, and their losses
    requests   what is summed: values, gradients and Hessians at w; slopes along a step; products
    work       the functions that run where the partition is
    executors  run them over all partitions: in threads, by dask, or by the workers of a cluster
    newton     the steps of one binary problem, on the client
    fit        one fit: the scan, a subsample to start from, the steps of all binary problems

Algorithms of rules process single samples, so that they read one partition after the other:

    streamed   X of which one partition is in memory; copies of the rows of active sets
    run        full epochs over partitions, with nested active sets over the copies

A partition's part of the sums is a function of the samples and of a few vectors. What it keeps between
passes, products w.y_k and dual variables, only saves passes: where it is lost, with a process or by
a change of place, it is computed again from the samples and the weight vectors that led to it.

**Source**: Mangasarian (2002), A finite Newton method for classification; Yan & Li (2020), An efficient
augmented Lagrangian method for support vector machine; Chu et al. (2006), Map-reduce for machine
learning on multicore.
"""
