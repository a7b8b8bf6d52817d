"""The commands of `margins`.

The other modules of this package do their work; they are imported when a command runs.
"""

import functools
import importlib
import os
import sys
import warnings
from contextlib import suppress

import click

from margins.cli import errors, options
from margins.optional import MissingPackage
from margins.readers.malformed import MalformedFile

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def runs(module):
    """Return a decorator: the command calls the function of its name in a module of this package."""

    def decorate(declared):
        @functools.wraps(declared)
        def run(**given):
            work = importlib.import_module(f"margins.cli.{module}")
            return getattr(work, declared.__name__)(**given)

        return run

    return decorate


@click.group(cls=options.Group, context_settings=CONTEXT, epilog=errors.EXIT_CODES)
@click.version_option(package_name="scikit-margins", prog_name="margins")
def cli():
    """Large-margin classifiers that prove how good they are.

    DATA is a file in svmlight's format, a table (CSV, Parquet, ARFF) or a matrix (.npy, .npz, .mtx,
    .h5ad), which may be compressed (.gz, .bz2, .xz), or a folder of such files; "-" is standard input.
    """


@cli.command(short_help="Train a classifier, and write a model file.")
@options.FILES
@options.output("Model file to write; all other files are then data.")
@click.option(
    "--stream",
    is_flag=True,
    help="Read the files in parts. With -o this is automatic if they do not fit into memory.",
)
@options.algorithm
@options.of_parameters()
@options.of_source
@options.scale
@options.force
@options.quiet
@options.as_json
@runs("training")
def train():
    """Train a classifier on DATA and write it to the file MODEL, replacing an older model.

    A MODEL that ends in .skops has everything of the classifier. Any other MODEL is a text that the
    programs predict of LIBLINEAR and LIBSVM read, too; without MODEL it is DATA.model.

    To train on several files with the same format and the same columns, use -o:
    margins train DATA... -o MODEL.

    Other parameters have the algorithm's defaults: see `margins describe`.
    """


@cli.command(short_help="Write predicted labels.")
@options.MODEL
@options.FILES_AND_OUTPUT
@options.output("File of predictions; all files after MODEL are data.")
@click.option("--scores", is_flag=True, help="Write the scores after each label.")
@options.trusted
@options.of_source
@options.force
@options.quiet
@options.as_json
@runs("prediction")
def predict():
    """Write the label that MODEL predicts for each sample of DATA to OUTPUT, one per line.

    Without OUTPUT, or if it is "-", labels go to standard output. An existing OUTPUT that is no file of
    predictions needs --force. If DATA has labels, the accuracy is printed; tables and matrices need
    --target for it.

    To predict several files of one format, in the given order, use -o:
    margins predict MODEL DATA... -o OUTPUT.
    """


@cli.command(short_help="Compare predicted labels with true ones.")
@options.MODEL
@options.SEVERAL
@options.trusted
@options.of_source
@options.quiet
@options.as_json
@runs("prediction")
def evaluate():
    """Compare the predictions of MODEL with the labels in DATA, one or more files of one format."""


@cli.command(short_help="Prove how good a model is.")
@options.MODEL
@options.SEVERAL
@options.of_parameters(of_fit=False)
@click.option("--alpha", type=float, help="Instead of -C: C is 1 / (alpha * number of samples).")
@click.option("--free-intercept", is_flag=True, help="The intercept was not penalised.")
@click.option("--accuracy", type=float, default=1e-4, show_default=True, help="Accuracy of the bound.")
@options.trusted
@options.of_source
@options.quiet
@options.as_json
@runs("prediction")
def certify():
    """Prove how far MODEL is above the optimum of its problem, with the samples DATA of its training.

    MODEL is a file of `train`, LIBLINEAR or LIBSVM. Texts do not state C: give -C or --alpha. They say
    that the intercept of a linear model was penalised, and the loss of a kernel model the hinge loss:
    otherwise give --free-intercept, --loss squared_hinge. Give the penalty and the bounds of a text,
    too, unless it is l2, or l1 with the squared hinge loss.
    """


@cli.command(short_help="Convert a model to ONNX or C.")
@options.MODEL
@click.argument("output", metavar="OUTPUT")
@click.argument("data", nargs=-1, metavar="[DATA...]")
@click.option("--double", is_flag=True, help="Use double precision for inputs and scores (ONNX).")
@click.option(
    "--weights",
    type=click.Choice(["double", "float", "int16", "int8"]),
    help="Type of the weights; integers for linear models in C.  [default: double]",
)
@options.trusted
@options.of_source
@options.force
@options.quiet
@runs("models")
def export():
    """Convert MODEL to ONNX, for onnxruntime and other tools, and write it to OUTPUT.

    The input is X; the outputs are the label and the scores of each sample.

    If OUTPUT ends in .c, it is one file of C99 with the functions margins_predict and margins_scores.
    With DATA, labelled samples as for `train`, it is written only if its --weights change none of their
    predicted labels.
    """


@cli.command(short_help="Print the features with the largest weights.")
@options.MODEL
@options.count("--top", 1, 20, "Number of features per class.")
@options.trusted
@options.as_json
@runs("models")
def weights():
    """Print the features with the largest weights of a linear MODEL, class by class.

    The features are those that the classifier was trained on: after --scale, with one feature for each
    category.
    """


@cli.command(short_help="Print which solvers would run, and why.")
@options.SEVERAL
@options.of_parameters()
@options.of_source
@options.scale
@options.as_json
@runs("studies")
def explain():
    """Print which solvers `train` would run on DATA, and why, without training.

    DATA may be several files of one format, as with `train -o`.
    """


@cli.command(short_help="Train with several values of C.")
@options.DATA
@click.option("--c-min", type=float, default=1e-3, show_default=True, help="Smallest C.")
@click.option("--c-max", type=float, default=1e3, show_default=True, help="Largest C.")
@options.count("--points", 1, 13, "Number of values of C.", 10_000)
@click.option("--test", metavar="DATA", help="Samples on which every fit is tested.")
@options.of_parameters("C", "max_time")
@options.of_source
@options.scale
@options.quiet
@options.as_json
@runs("studies")
def path():
    """Train with ascending values of C, each fit starting from the previous one, and print every fit."""


@cli.command(short_help="Cross-validate several algorithms.")
@options.DATA
@click.argument("algorithms", nargs=-1, metavar="ALGORITHM...")
@options.count("--folds", 2, 10, "Number of folds.")
@click.option(
    "-p",
    "--param",
    "settings",
    metavar="[ALGORITHM:]NAME=VALUE",
    multiple=True,
    help="Parameter of one algorithm, or of all algorithms that have it; may be repeated.",
)
@options.of_study
@runs("studies")
def compare():
    """Cross-validate the ALGORITHMs on the same folds of DATA, and print their differences."""


@cli.command(short_help="Double cross-validation with a parameter search.")
@options.DATA
@options.algorithm
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
@options.count("--outer", 2, 10, "Number of outer folds.")
@options.count("--inner", 2, 10, "Number of inner folds.")
@click.option("--cache", metavar="FOLDER", help="Folder for finished fits, which a later run reuses.")
@options.output("JSON file of the study to write, for Study.from_json.")
@options.force
@options.settings
@options.of_study
@runs("studies")
def study():
    """Estimate the score of an algorithm with a parameter search, by double cross-validation on DATA."""


@cli.command("list", short_help="List the installed algorithms.")
@options.as_json
@runs("catalogue")
def list_():
    """Print the name, the package and a summary of every installed algorithm."""


@cli.command(short_help="Describe one algorithm.")
@click.argument("name")
@runs("catalogue")
def describe():
    """Print the rules, the guarantees, the source and the parameters, with ranges, of an algorithm."""


def main(arguments=None):
    """Run the command line, and return the exit code."""
    if sys.stdout is None:  # closed: results would be lost without an error
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        # A name or a label that the locale cannot print must not make a finished command fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    stream = sys.stdout
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: click.echo(f"warning: {message}", err=True)
            result = cli.main(arguments, prog_name="margins", standalone_mode=False)
        sys.stdout.flush()
        return result or 0
    except errors.CommandError as error:
        return _failed(error, error.exit_code)
    except MalformedFile as error:
        return _failed(error, errors.UNREADABLE)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted; no file was written", errors.INTERRUPTED)
    except SystemExit:
        if sys.stdout is stream:
            raise
        return _closed_pipe()  # click replaced the output and exited because of it
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:  # from standard output, or from the folder for finished fits
        _forget_output()
        name = error.filename or "standard output"
        return _failed(f"{name}: cannot be written: {error.strerror or error}", errors.UNREADABLE)
    except (MissingPackage, TypeError, ValueError) as error:  # data or parameters are not allowed
        return _failed(error, errors.WRONG_USAGE)
    except Exception as error:  # from plug-ins, or a lack of memory
        return _failed(f"{type(error).__name__}: {error}", errors.FAILED)


def _closed_pipe():
    """Return the exit code for output that nothing reads, as of a Unix tool that a signal ends."""
    _forget_output()
    return errors.UNREAD


def _forget_output():
    """Discard what standard output could not take, which Python would try to write again at exit."""
    with suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message, exit_code):
    print(f"margins: {message}", file=sys.stderr)
    return exit_code
