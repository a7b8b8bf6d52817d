"""`margins certify`: what is proven of a model that any program trained."""

from margins.cli.errors import DONE, CommandError, samples_of
from margins.cli.files import check_output
from margins.cli.models import class_weight_of, read_model
from margins.cli.output import print_json
from margins.cli.samples import TrainingColumns, name_of, read_training_samples
from margins.cli.several import check_alike
from margins.cli.training import PROVEN


def certify(
    model, data, C, alpha, loss, free_intercept, class_weight, accuracy, trusted, read, quiet, as_json
):
    """Print the certificate of each binary problem of a model, and return the exit code."""
    sources = [read(path) for path in data]
    check_output()
    check_alike(sources)
    from margins.interchange.certification import certify as certificates_of

    model = read_model(model, trusted)
    X, y = read_training_samples(sources, TrainingColumns.of(model))
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
