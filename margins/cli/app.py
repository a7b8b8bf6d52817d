"""The commands of `margins`.

Their work is in the other modules of this package, which are imported when a command runs.
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
from margins.data.malformed import MalformedFile

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
@click.option("-o", "--output", metavar="FILE", help="The model; all other files are data.")
@click.option(
    "--stream",
    is_flag=True,
    help="Read the files in parts, as is done with -o if they do not fit into memory.",
)
@algorithm
@options_of_parameters()
@options_of_source
@scale
@force
@quiet
@as_json
def train(files, output, stream, algorithm, parameters, read, scale, force, quiet, as_json):
    """Train a classifier on DATA, and write it to the file MODEL, which may be an older model.

    Several files of one format, and of the same columns, are given with -o MODEL:
    margins train DATA... -o MODEL.

    Parameters that are not given have the algorithm's defaults: see `margins describe`.
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
@click.option("-o", "--output", metavar="FILE", help="The predictions; all files after MODEL are data.")
@click.option("--scores", is_flag=True, help="Write the scores after each label.")
@trusted
@options_of_source
@force
@quiet
@as_json
def predict(model, files, output, scores, trusted, read, force, quiet, as_json):
    """Write the label that MODEL predicts for each sample of DATA to OUTPUT, one per line.

    Without OUTPUT, or with "-", to standard output. OUTPUT must be new, unless --force is given.

    Several files of one format are given with -o OUTPUT, in the order of their lines in it:
    margins predict MODEL DATA... -o OUTPUT.
    """
    from margins.cli.prediction import predict
    from margins.cli.several import files_and_predictions

    data, output = files_and_predictions(files, output)
    if as_json and output == "-":
        raise CommandError("--json needs a file OUTPUT: predictions would mix with it.")
    sources = [read(path, quiet) for path in data]
    return predict(sources, model, output, scores=scores, trusted=trusted, force=force, as_json=as_json)


@cli.command(short_help="Compare predictions with labels.")
@MODEL
@SEVERAL
@trusted
@options_of_source
@quiet
@as_json
def evaluate(model, data, trusted, read, quiet, as_json):
    """Compare what MODEL predicts with the labels in DATA, which may be several files of one format."""
    from margins.cli.prediction import evaluate

    return evaluate([read(path, quiet) for path in data], model, trusted=trusted, as_json=as_json)


@cli.command(short_help="Write a model in ONNX.")
@MODEL
@click.argument("output", metavar="OUTPUT")
@click.option("--double", is_flag=True, help="Inputs and scores of double precision.")
@trusted
@force
@quiet
def export(model, output, double, trusted, force, quiet):
    """Write MODEL to OUTPUT in ONNX, for onnxruntime and whatever else reads it.

    Its input is X, its outputs are the label and the scores of each sample.
    """
    from margins.cli.models import export

    return export(model, output, double=double, trusted=trusted, force=force, quiet=quiet)


@cli.command(short_help="The features with the largest weights.")
@MODEL
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="Features per class.")
@trusted
@as_json
def weights(model, top, trusted, as_json):
    """Print the features of the linear MODEL with the largest weights, class by class.

    Weights are those of the features as the classifier sees them: after --scale, and with one feature
    for each category.
    """
    from margins.cli.models import weights

    return weights(model, top, trusted=trusted, as_json=as_json)


@cli.command(short_help="Which solvers would run, and why.")
@SEVERAL
@options_of_parameters()
@options_of_source
@scale
@as_json
def explain(data, parameters, read, scale, as_json):
    """Print which solvers `train` would run on DATA, and why. Nothing is trained.

    DATA may be several files of one format, as for `train -o`.
    """
    from margins.cli.studies import explain

    return explain([read(path) for path in data], parameters, scale=scale, as_json=as_json)


@cli.command(short_help="Train with a sequence of C.")
@DATA
@click.option("--c-min", type=float, default=1e-3, show_default=True, help="The smallest C.")
@click.option("--c-max", type=float, default=1e3, show_default=True, help="The largest C.")
@click.option("--points", type=click.IntRange(1), default=13, show_default=True, help="How many C.")
@click.option("--test", metavar="DATA", help="Samples to predict with every fit.")
@options_of_parameters("C", "max_time")
@options_of_source
@scale
@quiet
@as_json
def path(data, c_min, c_max, points, test, parameters, read, scale, quiet, as_json):
    """Train with a sequence of C, each fit started from the previous one, and print a line for each."""
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
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Folds.")
@click.option(
    "-p",
    "--param",
    "settings",
    metavar="[ALGORITHM:]NAME=VALUE",
    multiple=True,
    help="A parameter of one algorithm, or of all that have it; may be repeated.",
)
@options_of_source
@options_of_study
def compare(data, algorithms, folds, settings, read, options):
    """Cross-validate ALGORITHMS on the same folds of DATA, and print their differences."""
    from margins.cli.models import parameters_of
    from margins.cli.studies import compare

    return compare(
        read(data, options["quiet"]),
        list(algorithms),
        parameters_of(settings),
        folds=folds,
        **options,
    )


@cli.command(short_help="Double cross-validation with a search.")
@DATA
@algorithm
@click.option(
    "-g",
    "--grid",
    metavar="NAME=VALUE,...",
    multiple=True,
    required=True,
    help="Values of a parameter to search; may be repeated, also for one parameter.",
)
@click.option(
    "--halving",
    metavar="FACTOR",
    type=click.IntRange(2),
    help="Search by successive halving: few samples for all settings, all for the best.",
)
@click.option("--outer", type=click.IntRange(2), default=10, show_default=True, help="Outer folds.")
@click.option("--inner", type=click.IntRange(2), default=10, show_default=True, help="Inner folds.")
@click.option("--cache", metavar="FOLDER", help="Where finished fits are kept.")
@click.option("-o", "--output", metavar="FILE", help="The study as JSON, for Study.from_json.")
@force
@settings
@options_of_source
@options_of_study
def study(data, algorithm, grid, halving, outer, inner, cache, output, force, settings, read, options):
    """Double cross-validation on DATA: an unbiased score of an algorithm with its parameter search."""
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


@cli.command("list", short_help="The algorithms that are installed.")
@as_json
def list_(as_json):
    """Print every algorithm: its name, its package, a summary."""
    from margins.cli.catalogue import entries, listing
    from margins.cli.output import print_json

    if as_json:
        print_json(entries())
    else:
        print("\n".join(listing()))
    return 0


@cli.command(short_help="One algorithm: rules, parameters, source.")
@click.argument("name")
def describe(name):
    """Print an algorithm's rules, parameters with ranges, guarantees and source."""
    from margins.cli.catalogue import description

    try:
        print("\n".join(description(name)))
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def main(arguments=None):
    """The command line: the exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Default: those of the process.
    """
    if sys.stdout is None:  # closed: what is printed would be lost without an error
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        # A name or a label that the locale cannot show must not end a command whose work is done.
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
        return _closed_pipe()  # at which click replaces the output, and exits
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:  # of standard output, or of a folder for finished fits
        _forget_output()
        name = error.filename or "standard output"
        return _failed(f"{name}: cannot be written: {error.strerror or error}", UNREADABLE)
    except (TypeError, ValueError) as error:  # of what the data or the parameters do not allow
        return _failed(error, WRONG_USAGE)
    except Exception as error:  # of plug-ins, or of memory
        return _failed(f"{type(error).__name__}: {error}", FAILED)


def _closed_pipe():
    """The exit code if output is not read any more: that of Unix tools, which a signal ends."""
    _forget_output()
    return UNREAD


def _forget_output():
    """Write to nowhere what standard output could not take; the end of the process would try again."""
    with suppress(OSError):  # of a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message, exit_code):
    print(f"margins: {message}", file=sys.stderr)
    return exit_code
