"""Decremental learning: what a model becomes when samples leave the training set, with a proof.

    training set -> BoxProblem -> Solution -> LeftOut -> ScoreBounds

`problem` is the dual problem of a binary problem, `response` how its solution moves when one variable
does, `solution` an exact solution, `paths` the way from it to the solution without some samples,
`bounds` the proof. `left_out` has the bounds of the samples of one problem, each by the model without
it, and `scores` those of all problems of a classifier, and the labels that they leave possible.

Source: Cauwenberghs & Poggio (2000), Incremental and decremental support vector machine learning;
Vapnik & Chapelle (2000), Bounds on error expectation for support vector machines.
"""
