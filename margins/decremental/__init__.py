"""Decremental learning: how a model changes when samples leave the training set, with a proof.

    training set -> BoxProblem -> Solution -> MarginBounds -> ScoreBounds

`problem` has the dual of one binary problem. `response` computes how its solution moves when one
variable moves, and `solution` computes an exact solution. `paths` follows the solution while some
samples are removed, and `bounds` proves what the model without them predicts. `left_out` bounds the
margins of all samples of one binary problem, each in the model without the sample. `scores` does so for
all binary problems of a classifier, and finds the labels that remain possible.

**Source**: Cauwenberghs & Poggio (2000), Incremental and decremental support vector machine learning;
Vapnik & Chapelle (2000), Bounds on error expectation for support vector machines.
"""
