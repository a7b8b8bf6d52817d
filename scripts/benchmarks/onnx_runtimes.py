"""Our ONNX graphs in the runtimes that read them: labels that change, the largest difference of a score.

    python scripts/benchmarks/onnx_runtimes.py --folder FOLDER

FOLDER gets an environment of the versions that where_solvers_stop.toml pins, and the packages of NODE if
npm is there. The models are trained on the digits, all 1,797 of which are predicted, as float32.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

NODE = ("onnxruntime-node@1.30.0", "onnxruntime-web@1.30.0")
PRECISIONS = ("float64", "float32")
SCRIPT = """
import fs from "fs";
const [, , kind, graph, m, d] = process.argv;
const ort = await import(kind);
const session = await ort.InferenceSession.create(graph);
const X = new Float32Array(fs.readFileSync("X.bin").buffer.slice(0));
const found = await session.run({X: new ort.Tensor("float32", X, [Number(m), Number(d)])});
const numbers = (tensor) => Array.from(tensor.data, Number);
console.log(JSON.stringify([numbers(found.label), numbers(found.scores)]));
"""


def models():
    """Return fitted models by name, and the samples."""
    from sklearn.datasets import load_digits

    import margins

    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    settings = {
        "linear": ({}, y),
        "linear, two classes": ({}, y % 2),
        "linear, pairs": ({"multi_class": "ovo"}, y),
        "rbf": ({"kernel": "rbf"}, y),
        "poly": ({"kernel": "poly"}, y),
    }
    return {name: margins.MarginClassifier(**kw).fit(X, z) for name, (kw, z) in settings.items()}, X


# Each runtime, in the environment of its own: labels and scores of a graph in a file.


def by_evaluator(path, X):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(path).run(["label", "scores"], {"X": X})


def by_onnxruntime(path, X):
    from onnxruntime import InferenceSession

    return InferenceSession(path).run(["label", "scores"], {"X": X})


def by_openvino(path, X, **options):
    import openvino

    model = openvino.Core().compile_model(path, "CPU", options)
    found = model({"X": X})
    return found[model.output(0)], found[model.output(1)]


def by_openvino_in_float32(path, X):
    return by_openvino(path, X, INFERENCE_PRECISION_HINT="f32")


def by_opencv(path, X):
    import cv2

    net = cv2.dnn.readNetFromONNX(path)
    net.setInput(X, "X")
    return net.forward(["label", "scores"])


def by_tract(path, X):
    import tract

    model = tract.onnx().load(path)
    model.set_input_fact(0, f"{X.shape[0]},{X.shape[1]},f32")
    return [value.to_numpy() for value in model.into_model().into_runnable().run([X])]


def by_onnx2torch(path, X):
    import torch
    from onnx2torch import convert

    return [value.numpy() for value in convert(path)(torch.from_numpy(X))]


RUNTIMES = {
    "ONNX's evaluator 1.23.2": by_evaluator,
    "onnxruntime 1.32.0": by_onnxruntime,
    "OpenVINO 2026.4.1": by_openvino,
    "OpenVINO, precision hint f32": by_openvino_in_float32,
    "OpenCV 5.0.0 dnn": by_opencv,
    "tract 0.23.9": by_tract,
    "onnx2torch 1.5.15": by_onnx2torch,
}


def run_all(folder):
    """Write what each runtime finds, or the name of its error, to a file."""
    X, results = np.load(folder / "X.npy"), {}
    for path in sorted(folder.glob("*.onnx")):
        for name, run in RUNTIMES.items():
            try:
                labels, scores = map(np.ravel, run(str(path), X))
                results[f"{path.stem}/{name}"] = np.concatenate([labels.astype(float), scores])
            except Exception as error:  # any runtime has its own
                print(path.stem, name, str(error).splitlines()[0], file=sys.stderr)
    np.savez(folder / "found.npz", **results)


def run_node(folder, X):
    """Return the same of onnxruntime in Node and of the browser's WebAssembly, without npm nothing."""
    import json
    import shutil

    if shutil.which("npm") is None:
        return {}
    subprocess.run(["npm", "install", "--silent", "--ignore-scripts", *NODE], cwd=folder, check=True)
    X.tofile(folder / "X.bin")
    (folder / "run.mjs").write_text(SCRIPT)
    results = {}
    for path in sorted(folder.glob("*.onnx")):
        for package in NODE:
            command = ["node", "run.mjs", package.split("@")[0], path.name, *map(str, X.shape)]
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
            labels, scores = json.loads(done.stdout)
            results[f"{path.stem}/{package.replace('@', ' ')}"] = np.array(labels + scores)
    return results


def main(argv=None):
    """Print a table: for each runtime and model the labels that change, and the largest difference."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

    import reporting
    from where_solvers_stop import python_of

    from margins.interchange import to_onnx

    parser = reporting.parser_of(__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args(argv).folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    fitted, X = models()
    np.save(folder / "X.npy", X)
    for name, model in fitted.items():
        for precision in PRECISIONS:
            graph = to_onnx(model, precision=precision).SerializeToString()
            (folder / f"{name}-{precision}.onnx").write_bytes(graph)
    subprocess.run([python_of(folder, "onnx"), __file__, "--run", folder], check=True)
    with np.load(folder / "found.npz") as file:
        found = dict(file) | run_node(folder, X)
    rows = []
    for runtime in dict.fromkeys(key.split("/")[1] for key in found):
        for precision in PRECISIONS:
            row = [runtime, precision]
            for name, model in fitted.items():
                values = found.get(f"{name}-{precision}/{runtime}")
                if values is None:
                    row.append("error")
                    continue
                labels, scores = values[: len(X)], values[len(X) :]
                changed = int((labels != model.predict(X)).sum())
                row.append(f"{changed}; {np.abs(scores - model.decision_function(X).ravel()).max():.0e}")
            rows.append(row)
    print(reporting.markdown(["runtime", "graph", *fitted], rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_all(Path(sys.argv[2]))
    else:
        main()
