"""The commands of `margins`.

The other modules of this package do their work; they are imported when a command runs.
"""

import os
import sys
from contextlib import suppress

import click

from margins.cli.errors import (
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    UNREAD,
    UNREADABLE,
    WRONG_USAGE,
    CommandError,
)
from margins.cli.options import (
    DATA,
    FILES,
    FILES_AND_OUTPUT,
    MODEL,
    SEVERAL,
    Group,
    algorithm,
    as_json,
    force,
    options_of_parameters,
    options_of_source,
    options_of_study,
    quiet,
    scale,
    settings,
    trusted,
)
from margins.optional import MissingPackage
from margins.readers.malformed import MalformedFile

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.version_option(package_name="scikit-margins", prog_name="margins")
def cli():
    """Large-margin classifiers that prove how good they are.

    DATA is a file in svmlight's format, CSV or Parquet, which may be compressed (.gz, .bz2, .xz); "-" is
    standard input.
    """


@cli.command(short_help="Train a classifier, and write a model file.")
@FILES
@click.option(
    "-o", "--output", metavar="FILE", help="Model file to write; all other files are then data."
)
@click.option(
    "--stream",
    is_flag=True,
    help="Read the files in parts. With -o this is automatic if they do not fit into memory.",
)
@algorithm
@options_of_parameters()
@options_of_source
@scale
@force
@quiet
@as_json
def train(files, output, stream, algorithm, parameters, read, scale, force, quiet, as_json):
    """Train a classifier on DATA and write it to the file MODEL, replacing an older model.

    To train on several files with the same format and the same columns, use -o:
    margins train DATA... -o MODEL.

    Other parameters have the algorithm's defaults: see `margins describe`.
    """
    from margins.cli.several import files_and_model
    from margins.cli.training import train

    if output is None and len(files) == 1:
        raise click.MissingParameter(param_hint="'MODEL'", param_type="argument")
    data, model = files_and_model(files, output)
    return train(
        [read(path, quiet) for path in data],
        model,
        algorithm,
        parameters,
        scale=scale,
        stream=stream,
        may_stream=output is not None,
        force=force,
        quiet=quiet,
        as_json=as_json,
    )


@cli.command(short_help="Write predicted labels.")
@MODEL
@FILES_AND_OUTPUT
@click.option(
    "-o", "--output", metavar="FILE", help="File of predictions; all files after MODEL are data."
)
@click.option("--scores", is_flag=True, help="Write the scores after each label.")
@trusted
@options_of_source
@force
@quiet
@as_json
def predict(model, files, output, scores, trusted, read, force, quiet, as_json):
    """Write the label that MODEL predicts for each sample of DATA to OUTPUT, one per line.

    Without OUTPUT, or if it is "-", labels go to standard output. An existing OUTPUT needs --force.

    To predict several files of one format, in the given order, use -o:
    margins predict MODEL DATA... -o OUTPUT.
    """
    from margins.cli.prediction import predict
    from margins.cli.several import files_and_predictions

    data, output = files_and_predictions(files, output)
    if as_json and output == "-":
        raise CommandError("--json needs a file OUTPUT: on standard output, JSON would mix with labels.")
    sources = [read(path, quiet) for path in data]
    return predict(sources, model, output, scores=scores, trusted=trusted, force=force, as_json=as_json)


@cli.command(short_help="Compare predicted labels with true ones.")
@MODEL
@SEVERAL
@trusted
@options_of_source
@quiet
@as_json
def evaluate(model, data, trusted, read, quiet, as_json):
    """Compare the predictions of MODEL with the labels in DATA, one or more files of one format."""
    from margins.cli.prediction import evaluate

    return evaluate([read(path, quiet) for path in data], model, trusted=trusted, as_json=as_json)


@cli.command(short_help="Convert a model to ONNX.")
@MODEL
@click.argument("output", metavar="OUTPUT")
@click.option("--double", is_flag=True, help="Use double precision for inputs and scores.")
@trusted
@force
@quiet
def export(model, output, double, trusted, force, quiet):
    """Convert MODEL to ONNX, for onnxruntime and other tools, and write it to OUTPUT.

    The input is X; the outputs are the label and the scores of each sample.
    """
    from margins.cli.models import export

    return export(model, output, double=double, trusted=trusted, force=force, quiet=quiet)


@cli.command(short_help="Print the features with the largest weights.")
@MODEL
@click.option(
    "--top", type=click.IntRange(1), default=20, show_default=True, help="Number of features per class."
)
@trusted
@as_json
def weights(model, top, trusted, as_json):
    """Print the features with the largest weights of a linear MODEL, class by class.

    The features are those that the classifier was trained on: after --scale, with one feature for each
    category.
    """
    from margins.cli.models import weights

    return weights(model, top, trusted=trusted, as_json=as_json)


@cli.command(short_help="Print which solvers would run, and why.")
@SEVERAL
@options_of_parameters()
@options_of_source
@scale
@as_json
def explain(data, parameters, read, scale, as_json):
    """Print which solvers `train` would run on DATA, and why, without training.

    DATA may be several files of one format, as with `train -o`.
    """
    from margins.cli.studies import explain

    return explain([read(path) for path in data], parameters, scale=scale, as_json=as_json)


@cli.command(short_help="Train with several values of C.")
@DATA
@click.option("--c-min", type=float, default=1e-3, show_default=True, help="Smallest C.")
@click.option("--c-max", type=float, default=1e3, show_default=True, help="Largest C.")
@click.option(
    "--points", type=click.IntRange(1), default=13, show_default=True, help="Number of values of C."
)
@click.option("--test", metavar="DATA", help="Samples on which every fit is tested.")
@options_of_parameters("C", "max_time")
@options_of_source
@scale
@quiet
@as_json
def path(data, c_min, c_max, points, test, parameters, read, scale, quiet, as_json):
    """Train with ascending values of C, each fit starting from the previous one, and print every fit."""
    from margins.cli.studies import path, penalties_of

    return path(
        read(data, quiet),
        parameters,
        penalties_of(c_min, c_max, points),
        test=None if test is None else read(test, quiet),
        scale=scale,
        quiet=quiet,
        as_json=as_json,
    )


@cli.command(short_help="Cross-validate several algorithms.")
@DATA
@click.argument("algorithms", nargs=-1, metavar="ALGORITHM...")
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Number of folds.")
@click.option(
    "-p",
    "--param",
    "settings",
    metavar="[ALGORITHM:]NAME=VALUE",
    multiple=True,
    help="Parameter of one algorithm, or of all algorithms that have it; may be repeated.",
)
@options_of_source
@options_of_study
def compare(data, algorithms, folds, settings, read, options):
    """Cross-validate the ALGORITHMs on the same folds of DATA, and print their differences."""
    from margins.cli.models import parameters_of
    from margins.cli.studies import compare

    return compare(
        read(data, options["quiet"]),
        list(algorithms),
        parameters_of(settings),
        folds=folds,
        **options,
    )


@cli.command(short_help="Double cross-validation with a parameter search.")
@DATA
@algorithm
@click.option(
    "-g",
    "--grid",
    metavar="NAME=VALUE,...",
    multiple=True,
    required=True,
    help="Values of a parameter to try; may be repeated, also for the same parameter.",
)
@click.option(
    "--halving",
    metavar="FACTOR",
    type=click.IntRange(2),
    help="Search by successive halving: all settings on few samples, the best on all samples.",
)
@click.option(
    "--outer", type=click.IntRange(2), default=10, show_default=True, help="Number of outer folds."
)
@click.option(
    "--inner", type=click.IntRange(2), default=10, show_default=True, help="Number of inner folds."
)
@click.option("--cache", metavar="FOLDER", help="Folder for finished fits, which a later run reuses.")
@click.option(
    "-o", "--output", metavar="FILE", help="JSON file of the study to write, for Study.from_json."
)
@force
@settings
@options_of_source
@options_of_study
def study(data, algorithm, grid, halving, outer, inner, cache, output, force, settings, read, options):
    """Estimate the score of an algorithm with a parameter search, by double cross-validation on DATA."""
    from margins.cli.models import parameters_of
    from margins.cli.studies import grid_of, study

    return study(
        read(data, options["quiet"]),
        algorithm,
        parameters_of(settings),
        grid_of(grid),
        halving=halving,
        outer=outer,
        inner=inner,
        cache=cache,
        output=output,
        force=force,
        **options,
    )


@cli.command("list", short_help="List the installed algorithms.")
@as_json
def list_(as_json):
    """Print the name, the package and a summary of every installed algorithm."""
    from margins.cli.catalogue import entries, listing
    from margins.cli.output import print_json

    if as_json:
        print_json(entries())
    else:
        print("\n".join(listing()))
    return 0


@cli.command(short_help="Describe one algorithm.")
@click.argument("name")
def describe(name):
    """Print the rules, the guarantees, the source and the parameters, with ranges, of an algorithm."""
    from margins.cli.catalogue import description

    try:
        print("\n".join(description(name)))
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def main(arguments=None):
    """Run the command line, and return the exit code."""
    if sys.stdout is None:  # closed: results would be lost without an error
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        # A name or a label that the locale cannot print must not make a finished command fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    output = sys.stdout
    try:
        result = cli.main(arguments, prog_name="margins", standalone_mode=False)
        sys.stdout.flush()
        return result or 0
    except CommandError as error:
        return _failed(error, error.exit_code)
    except MalformedFile as error:
        return _failed(error, UNREADABLE)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted; no file was written", INTERRUPTED)
    except SystemExit:
        if sys.stdout is output:
            raise
        return _closed_pipe()  # click replaced the output and exited because of it
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:  # from standard output, or from the folder for finished fits
        _forget_output()
        name = error.filename or "standard output"
        return _failed(f"{name}: cannot be written: {error.strerror or error}", UNREADABLE)
    except (MissingPackage, TypeError, ValueError) as error:  # data or parameters are not allowed
        return _failed(error, WRONG_USAGE)
    except Exception as error:  # from plug-ins, or a lack of memory
        return _failed(f"{type(error).__name__}: {error}", FAILED)


def _closed_pipe():
    """Return the exit code for output that nothing reads, as of a Unix tool that a signal ends."""
    _forget_output()
    return UNREAD


def _forget_output():
    """Discard what standard output could not take, which Python would try to write again at exit."""
    with suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message, exit_code):
    print(f"margins: {message}", file=sys.stderr)
    return exit_code
