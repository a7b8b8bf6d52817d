"""The programs of where_solvers_stop.py, each run by the Python of its environment.

A function gets samples, labels -1 and 1, C of |w|^2 / 2 + C sum of losses, and whether the tolerance is
tight. It returns weights or, with a kernel, dual variables times labels, and the intercept, so that
scores are positive for label 1. Other settings are the defaults.
"""

import importlib
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
TIGHT = 1e-10


def liblinear(X, y, C, tight, solver):
    from liblinear.liblinearutil import train

    model = train(y, X, f"-s {solver} -c {C!r} -B 1 -q" + f" -e {TIGHT}" * tight)
    coef, intercept = model.get_decfun()
    sign = model.get_labels()[0]  # scores are positive for the label of the first row
    return sign * np.array(coef), sign * intercept


def libsvm(X, y, C, tight, kernel):
    from libsvm.svmutil import svm_train

    options = f"-t {2 * (kernel == 'rbf')} -c {C!r} -q" + f" -e {TIGHT}" * tight
    model = svm_train(y, X, options)
    sign, dual = model.get_labels()[0], np.zeros(len(y))
    dual[np.array(model.get_sv_indices()) - 1] = np.ravel(model.get_sv_coef())
    return weights(X, sign * dual, kernel), -sign * model.rho[0]


def weights(X, dual, kernel):
    """Return the weights of dual variables times labels or, with a kernel, these variables."""
    return dual @ X if kernel == "linear" else dual


def estimator(X, y, C, tight, name, parameter, options, tight_options, kernel=None):
    """Fit an estimator like scikit-learn's, whose C is called `parameter`."""
    module, _, kind = name.rpartition(".")
    penalty = {"C": C, "regularizer": 1 / C, "alpha": 1 / (C * len(y))}[parameter]
    made = getattr(importlib.import_module(module), kind)
    model = made(**{parameter: penalty}, **options, **(tight_options if tight else {})).fit(X, y)
    if kernel is None:
        return model.coef_, getattr(model, "intercept_", 0.0)
    dual, values = np.zeros(len(y)), model.dual_coef_
    dual[model.support_] = np.ravel(values.toarray() if hasattr(values, "toarray") else values)
    return weights(X, dual, kernel), model.intercept_


def opencv(X, y, C, tight):
    import cv2

    model = cv2.ml.SVM_create()
    model.setType(cv2.ml.SVM_C_SVC)
    model.setKernel(cv2.ml.SVM_LINEAR)
    model.setC(C)
    if tight:
        model.setTermCriteria((cv2.TERM_CRITERIA_EPS, 0, TIGHT))
    model.train(np.float32(X), cv2.ml.ROW_SAMPLE, np.int32(y))
    rho, alpha, places = model.getDecisionFunction(0)
    coef = np.ravel(alpha) @ np.float64(model.getSupportVectors())[np.ravel(places)]
    return -coef, rho  # RAW_OUTPUT is w.x - rho, negative for the larger label


def mlpack(X, y, C, tight):
    import mlpack

    penalty, size = 2 / (C * len(y)), X.shape[1] + 1
    done = mlpack.linear_svm(training=X, labels=np.int64(y > 0), lambda_=penalty, seed=1)
    state = done["output_model"].__getstate__()  # the weights of both classes follow their shape
    begin = state.index(np.array([size, 2], "<u8").tobytes()) + 24
    of_classes = np.frombuffer(state, "<f8", 2 * size, begin).reshape(2, size)
    return np.split(of_classes[1] - of_classes[0], [-1])


def dlib(X, y, C, tight):
    import dlib

    trainer = dlib.svm_c_trainer_linear()
    trainer.set_c(C * len(y))
    if tight:
        trainer.epsilon, trainer.max_iterations = 1e-9, 10**6
    model = trainer.train(dlib.vectors([dlib.vector(row) for row in X]), dlib.array(np.float64(y)))
    zero = model(dlib.vector(np.zeros(X.shape[1])))
    return np.array([model(dlib.vector(row)) for row in np.eye(X.shape[1])]) - zero, zero


def vw(X, y, C, tight, passes):
    import vowpalwabbit

    is_online, options = passes != "bfgs", ["--loss_function hinge --quiet --predict_only_model"]
    options.append(f"--l2 {1 / (C * (len(y) if is_online else 1))!r}")
    if not is_online:
        options.append(f"--bfgs --passes 100 --holdout_off {'--termination 0' * tight}")
    elif tight:
        options.append(f"--sgd --power_t 1 -l {C * len(y)!r} --initial_t 1 --passes 10000 --holdout_off")
    elif passes > 1:
        options.append(f"--passes {passes}")
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "data", Path(folder) / "model"
        lines = (
            f"{label} | " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x)
            for label, row in zip(y.tolist(), X.tolist(), strict=True)
        )
        data.write_text("\n".join(lines) + "\n")
        options.append(f"-k --cache_file {data}.cache -d {data} --readable_model {model}")
        vowpalwabbit.Workspace(" ".join(options)).finish()
        text = model.read_text()
    values = {int(key): float(value) for key, value in re.findall(r"^(\d+):([-+.e\d]+)", text, re.M)}
    coef = np.array([values.pop(j + 1, 0.0) for j in range(X.shape[1])])
    return coef, sum(values.values())  # what is left is the constant


def h2o(X, y, C, tight):
    import h2o
    from h2o.estimators import H2OSupportVectorMachineEstimator

    h2o.init(nthreads=1, strict_version_check=False)
    try:
        frame = h2o.H2OFrame(np.column_stack([X, y]).tolist())
        target = frame.columns[-1]
        frame[target] = frame[target].asfactor()
        options = {"rank_ratio": 1.0} if tight else {}
        model = H2OSupportVectorMachineEstimator(hyper_param=C, gamma=1 / X.shape[1], seed=0, **options)
        model.train(y=target, training_frame=frame)
        output = model._model_json["output"]
        alpha = h2o.get_frame(output["alpha_key"]["name"])
        values = h2o.as_list(alpha, use_pandas=False, header=False)
        return np.array([float(row[0]) if row else 0.0 for row in values]), output["rho"]
    finally:
        h2o.cluster().shutdown()


def spark(X, y, C, tight):
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    rows = [(float(label > 0), Vectors.dense(row)) for label, row in zip(y, X.tolist(), strict=True)]
    data = session.createDataFrame(rows, ["label", "features"]).coalesce(1).cache()
    options = {"maxIter": 500, "tol": 1e-14} if tight else {}
    model = LinearSVC(regParam=1 / (C * len(y)), **options).fit(data)
    return model.coefficients.toArray() * X.std(axis=0, ddof=1), model.intercept


def torchkm(X, y, C, tight):
    from torchkm.estimators import TorchKMSVC

    options = {"tol": 1e-10, "max_iter": 10**5} if tight else {}
    gamma = 1 / X.shape[1]  # its kernel is exp(-2 rbf_sigma |x - z|^2)
    model = TorchKMSVC(Cs=[C], rbf_sigma=gamma / 2, random_state=0, device="cpu", **options).fit(X, y)
    return model.alpha_, model.intercept_


def weka(X, y, C, tight):
    import weka

    jar = Path(weka.__file__).parent / "lib" / "weka.jar"
    return by_file(["java", "-cp", jar, FOLDER / "where_solvers_stop.java"], X, y, C, tight)


def r(X, y, C, tight, package, kernel):
    command = ["Rscript", "--vanilla", FOLDER / "where_solvers_stop.R", package, kernel]
    dual, intercept = by_file(command, X, y, C, tight)
    return weights(TRANSFORMED["(x - mean) / sd"](X), dual, kernel), intercept


def by_file(command, X, y, C, tight):
    """Run a program that reads a table, labels last, and writes the intercept and other numbers."""
    with tempfile.TemporaryDirectory() as folder:
        table, found = Path(folder) / "table.csv", Path(folder) / "found.txt"
        np.savetxt(table, np.column_stack([X, y]), fmt="%.17g", delimiter=",")
        subprocess.run([*command, table, found, repr(C), str(int(tight))], check=True)
        intercept, *numbers = np.loadtxt(found)
        return np.array(numbers), intercept


def ratio(X, scale):
    return X / np.where(scale > 0, scale, 1.0)


TRANSFORMED = {  # how programs transform the features
    "": lambda X: X,
    "(x - mean) / sd": lambda X: ratio(X - X.mean(axis=0), X.std(axis=0, ddof=1)),
    "x / sd": lambda X: ratio(X, X.std(axis=0, ddof=1)),
    "[0, 1]": lambda X: ratio(X - X.min(axis=0), np.ptp(X, axis=0)),
    "float32": lambda X: np.float64(np.float32(X)),
}

if __name__ == "__main__":
    call, source, target = sys.argv[1:]
    with np.load(source) as file:
        X, y, C, tight = file["X"], file["y"], float(file["C"]), bool(file["tight"])
    name, *options = json.loads(call)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coef, intercept = globals()[name](X, y, C, tight, *options)[:2]
    said = sorted({warning.category.__name__ for warning in caught})
    np.savez(target, coef=np.ravel(coef), intercept=float(np.ravel(intercept)[0]), said=said)
