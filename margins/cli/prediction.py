"""`margins predict`, `evaluate` and `certify`: what a model predicts, and what is proven of it."""

import operator

from margins.cli.direct import labels_and_scores
from margins.cli.errors import DONE, CommandError, samples_of, unreadable
from margins.cli.files import check_output, check_replaceable, predictions_of, write_whole
from margins.cli.models import feature_names, of_labels, read_model
from margins.cli.output import label_text, note, print_json
from margins.cli.samples import (
    TrainingColumns,
    check_alike,
    classifier_of,
    is_precomputed,
    name_of,
    read_point_arrays,
    read_points,
    read_training_samples,
)
from margins.readers.models import LinearFile
from margins.text import aligned


def predict(model, files, output, scores, trusted, read, force, quiet, as_json):
    """Write the predicted labels of all files, one per line, and return the exit code."""
    data, path = files_and_predictions(files, output)
    if as_json and path == "-":
        raise CommandError("--json needs a file OUTPUT: on standard output, JSON would mix with labels.")
    sources, model_path = read(*data), model
    if as_json:
        check_output()
    model = read_model(model, trusted, as_file=sources[0].kind == "svmlight")
    if isinstance(model, LinearFile):
        classes, predicted_of = sorted(model.labels), _predicted_by_file
        trained = TrainingColumns(model.n_features, None, {}, classes)
    else:
        classes, predicted_of = model.classes_.tolist(), _predicted_by_classifier
        trained = TrainingColumns.of(model)
    text_of = {label: label_text(label) for label in classes}
    inputs = [model_path, *(source.path for source in sources)]
    check_replaceable(path, predictions_of(text_of.values()), inputs, force)
    check_alike(sources)
    labels, lines, n_labelled, n_correct = [], [], 0, 0
    for source in sources:  # with one file at a time in memory
        predicted, rows, true_labels = predicted_of(model, source, trained, scores)
        labels_of_file = [text_of[label] for label in predicted]
        labels += labels_of_file
        if not text_of.keys().isdisjoint(true_labels):
            n_labelled += len(predicted)
            n_correct += sum(map(operator.eq, predicted, true_labels))
        if scores:
            labelled = zip(labels_of_file, rows, strict=True)
            lines += [" ".join([label, *map(repr, row)]) for label, row in labelled]
    lines = lines if scores else labels
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    accuracy = {"accuracy": n_correct / n_labelled, "n_correct": n_correct} if n_labelled else {}
    if as_json:
        counts = {label: labels.count(label) for label in sorted(set(labels))}
        print_json({"n_samples": len(labels), **accuracy, "predicted": counts, "predictions": path})
    elif accuracy and not quiet:
        text = f"accuracy {accuracy['accuracy']:.6f}  ({n_correct} of {n_labelled})"
        note(text) if path == "-" else print(text)
    return DONE


def files_and_predictions(files, output):
    """Split the arguments of `predict` into data files and the file of predictions: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) > 2:
        raise CommandError(
            f"predict takes MODEL, DATA and OUTPUT, or MODEL and several data files with -o OUTPUT. "
            f"Got {len(files)} files after the model without -o. Give the file of predictions with -o, "
            "or -o - for standard output."
        )
    return [files[0]], files[1] if len(files) > 1 else "-"


def _predicted_by_file(model, source, trained, scores):
    """Return the labels that a LinearFile predicts, the scores of each sample, and the true labels."""
    arrays = read_point_arrays(source, trained)
    return *labels_and_scores(model, arrays), arrays.labels


def _predicted_by_classifier(model, source, trained, scores):
    """Return the predicted labels, with `scores` those of each sample, and the true labels if any."""
    X, y = read_points(source, trained, needs_labels=source.target is not None)
    with samples_of(source.path):
        predicted = model.predict(X)
        rows = model.decision_function(X).reshape(len(predicted), -1).tolist() if scores else None
    return predicted.tolist(), rows, () if y is None else y.tolist()


def evaluate(model, data, trusted, read, quiet, as_json):
    """Print how well a model predicts the labels in all files, and return the exit code."""
    sources = read(*data)
    check_output()
    check_alike(sources)
    import numpy as np
    from sklearn import metrics

    model = read_model(model, trusted)
    trained, classes = TrainingColumns.of(model), model.classes_.tolist()
    y, predicted = [], []
    for source in sources:  # with one file at a time in memory
        samples = read_points(source, trained, needs_labels=True)
        if (samples.y.dtype.kind in "biuf") != (model.classes_.dtype.kind in "biuf"):
            raise unreadable(
                f"{source.path}: the labels must be of the same kind as the model's classes, "
                f"{classes}. Got {samples.y[0]!r}."
            )
        y.append(samples.y)
        with samples_of(source.path):
            predicted.append(model.predict(samples.X))
    y, predicted = np.concatenate(y), np.concatenate(predicted)
    unknown = sorted(set(y.tolist()) - set(classes))
    labels = [*classes, *unknown]
    scores = metrics.precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0.0)
    _, recall, _, support = scores
    # scikit-learn counts in floats if no prediction is correct.
    columns = [*(values.tolist() for values in scores[:3]), support.astype(int).tolist()]
    header = ("class", "precision", "recall", "f1", "samples")
    rows = list(zip(labels, *columns, strict=True))
    result = {
        "n_samples": len(y),
        "n_correct": int((predicted == y).sum()),
        "accuracy": float((predicted == y).mean()),
        "balanced_accuracy": float(recall[support > 0].mean()) if support.any() else 0.0,
        "classes": [dict(zip(header, row, strict=True)) for row in rows],
        "confusion_matrix": metrics.confusion_matrix(y, predicted, labels=labels).tolist(),
        "unknown_classes": unknown,
    }
    if as_json:
        print_json(result)
        return DONE
    accuracy = f"{result['accuracy']:.6f}  ({result['n_correct']} of {len(y)})"
    balanced = f"{result['balanced_accuracy']:.6f}"
    print(aligned([("accuracy", accuracy), ("balanced accuracy", balanced)], left=(0, 1)))
    print()
    cells = [(label_text(c), *(f"{x:.4f}" for x in (p, r, f)), n) for c, p, r, f, n in rows]
    print(aligned([header, *cells]))
    if unknown:
        note(f"note: the model has no class {', '.join(map(label_text, unknown))}.")
    return DONE


def certify(model, data, alpha, parameters, free_intercept, accuracy, trusted, read, quiet, as_json):
    """Print the certificate of each binary problem of a model, and return the exit code."""
    sources = read(*data)
    check_output()
    check_alike(sources)
    from margins.cli.training import PROVEN
    from margins.interchange.certification import certify as certificates_of

    model = read_model(model, trusted)
    X, y = read_training_samples(sources, TrainingColumns.of(model))
    if is_precomputed(model):  # a text states no training sample after the last support vector
        model.n_features_in_ = max(model.n_features_in_, X.shape[1])
    penalty = parameters.get("penalty")
    if hasattr(penalty, "for_features"):
        first = getattr(classifier_of(model), "first_index_", sources[0].first_index)
        parameters["penalty"] = penalty.for_features(feature_names(model, X.shape[1], first))
    if "class_weight" in parameters:
        parameters["class_weight"] = of_labels(parameters["class_weight"], y)
    is_penalised = False if free_intercept else None
    given = {"alpha": alpha, "penalize_intercept": is_penalised, "accuracy": accuracy, **parameters}
    with samples_of(name_of(sources)):
        result = certificates_of(model, X, y, **given)
        n_different = result.n_different
    if as_json:
        rows = zip(result.names, result.certificates, strict=True)
        proofs = [{"problem": name} | {p: getattr(proof, p) for p in PROVEN} for name, proof in rows]
        print_json({"certificates": proofs, "n_different": n_different, "advice": result.advice})
        return DONE
    print(result)
    print(f"{n_different} of {len(y)} training predictions differ from those of the optimum")
    return DONE
