"""`margins certify`: what is proven of a model that any program trained."""

from margins.cli.errors import DONE, CommandError, samples_of, unreadable
from margins.cli.files import check_output
from margins.cli.models import class_weight_of, read_model
from margins.cli.output import print_json
from margins.cli.samples import TrainingColumns, name_of, read_arrays, read_points
from margins.cli.several import check_alike
from margins.cli.training import PROVEN


def certify(
    model, data, C, alpha, loss, free_intercept, class_weight, accuracy, trusted, read, quiet, as_json
):
    """Print the certificate of each binary problem of a model, and return the exit code."""
    sources = [read(path) for path in data]
    check_output()
    check_alike(sources)
    import numpy as np
    from scipy import sparse

    from margins.interchange.certification import certify as certificates_of

    model = read_model(model, trusted)
    trained = TrainingColumns.of(model)
    for source in sources:
        if not source.is_table and read_arrays(source, to_train=False).shape[1] > trained.n_features:
            raise unreadable(f"{source.path}: must have the features of the model, and has more.")
    parts = [read_points(source, trained, needs_labels=True) for source in sources]
    X, y = parts[0]
    if len(parts) > 1:
        y = np.concatenate([part.y for part in parts])
        if sources[0].is_table:
            import pandas

            X = pandas.concat([part.X for part in parts])
        else:
            X = sparse.vstack([part.X for part in parts], format="csr")
    weights = None if class_weight is None else class_weight_of(class_weight)
    given = {"C": C, "alpha": alpha, "loss": loss, "class_weight": weights}
    given["penalize_intercept"] = False if free_intercept else None
    with samples_of(name_of(sources)):
        try:
            result = certificates_of(model, X, y, accuracy=accuracy, **given)
        except TypeError as error:
            raise CommandError(str(error)) from error
        n_different = result.n_different
    if as_json:
        rows = zip(result.names, result.certificates, strict=True)
        proofs = [{"problem": name} | {p: getattr(proof, p) for p in PROVEN} for name, proof in rows]
        print_json({"certificates": proofs, "n_different": n_different, "advice": result.advice})
        return DONE
    print(result)
    print(f"{n_different} of {len(y)} training predictions differ from those of the optimum")
    return DONE
