"""The commands of `margins` and their options.

Their work is in the other modules of this package, which are imported when a command runs.
"""

import functools
import os
import sys

import click

from margins.cli.errors import EXIT_CODES, FAILED, INTERRUPTED, UNREADABLE, WRONG_USAGE, CommandError
from margins.cli.samples import FORMATS, Source
from margins.data.malformed import MalformedFile

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def options_of_source(command):
    """Add the options that say how a file is read; the command gets `read`, which makes a Source."""

    @click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="auto",
        show_default=True,
        help="Of the file; auto: by its name (.csv, .parquet, else svmlight).",
    )
    @click.option("--target", metavar="NAME", help="The column of the labels, of a table.")
    @click.option(
        "--categorical",
        metavar="NAME,...",
        multiple=True,
        help="Columns of categories, of a table; each value becomes a feature.",
    )
    @click.option("--zero-based", is_flag=True, help="Indices of svmlight's format begin at 0.")
    @functools.wraps(command)
    def with_source(*args, format_, target, categorical, zero_based, **kwargs):
        names = tuple(name.strip() for text in categorical for name in text.split(",") if name.strip())

        def read(path):
            return Source(path, format_, target, names, zero_based)

        return command(*args, read=read, **kwargs)

    return with_source


def options_of_parameters(command):
    """Add the options of parameters; the command gets `parameters`, a dict."""

    @click.option(
        "-p",
        "--param",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="Any parameter of the algorithm, see `margins describe`; may be repeated.",
    )
    @click.option("-C", "C", metavar="FLOAT", help="Penalty of the soft margin; inf: the hard margin.")
    @click.option("--eps", metavar="FLOAT", help="Accuracy to prove.")
    @click.option("--loss", metavar="NAME", help="squared_hinge or hinge.")
    @click.option("--kernel", metavar="NAME", help="linear, rbf or poly.")
    @click.option("--gamma", metavar="FLOAT", help="Of the kernel: scale, auto or a number.")
    @click.option("--max-iter", metavar="INT", help="Full epochs at most.")
    @click.option("--max-time", metavar="SECONDS", help="Seconds of training at most.")
    @click.option(
        "--seed",
        "random_state",
        metavar="INT",
        default="0",
        show_default=True,
        help="Of the orders of the samples; none: another one each time.",
    )
    @click.option("--jobs", "n_jobs", metavar="INT", help="Threads, of several classes.")
    @functools.wraps(command)
    def with_parameters(*args, settings, **kwargs):
        from margins.cli.models import parameters_of, value_of

        parameters = {"random_state": kwargs.pop("random_state")}
        for name in ("C", "eps", "loss", "kernel", "gamma", "max_iter", "max_time", "n_jobs"):
            text = kwargs.pop(name)
            if text is not None:
                parameters[name] = text
        parameters = {name: value_of(text) for name, text in parameters.items()}
        return command(*args, parameters={**parameters, **parameters_of(settings)}, **kwargs)

    return with_parameters


quiet = click.option("-q", "--quiet", is_flag=True, help="Print results and errors only.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
scale = click.option("--scale", is_flag=True, help="Divide each feature by its largest absolute value.")
trusted = click.option(
    "--trust",
    "trusted",
    metavar="TYPE",
    multiple=True,
    help="A type of a plug-in that the model may hold: package.module.Class.",
)
algorithm = click.option(
    "-a",
    "--algorithm",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="A name of `margins list`.",
)
DATA = click.argument("data", metavar="DATA")
MODEL = click.argument("model", metavar="MODEL")


@click.group(context_settings=CONTEXT, epilog=EXIT_CODES)
@click.version_option(package_name="scikit-margins", prog_name="margins")
def cli():
    """Large-margin classifiers that prove how good they are.

    DATA is a file in svmlight's format, CSV or Parquet, which may be compressed (.gz, .bz2, .xz); "-" is
    standard input.
    """


@cli.command(short_help="Train a classifier, and write a model file.")
@DATA
@MODEL
@algorithm
@options_of_parameters
@options_of_source
@scale
@quiet
@as_json
def train(data, model, algorithm, parameters, read, scale, quiet, as_json):
    """Train a classifier on DATA, and write it to the file MODEL.

    Parameters that are not given have the algorithm's defaults: see `margins describe`.
    """
    from margins.cli.training import train

    return train(read(data), model, algorithm, parameters, scale=scale, quiet=quiet, as_json=as_json)


@cli.command(short_help="Write predicted labels.")
@MODEL
@DATA
@click.argument("output", metavar="[OUTPUT]", default="-")
@click.option("--scores", is_flag=True, help="Write the scores after each label.")
@trusted
@options_of_source
@quiet
@as_json
def predict(model, data, output, scores, trusted, read, quiet, as_json):
    """Write the label that MODEL predicts for each sample of DATA to OUTPUT, one per line.

    Without OUTPUT, or with "-", to standard output.
    """
    from margins.cli.prediction import predict

    if as_json and output == "-":
        raise CommandError("--json needs a file OUTPUT: predictions would mix with it.")
    return predict(
        read(data), model, output, scores=scores, trusted=trusted, quiet=quiet, as_json=as_json
    )


@cli.command(short_help="Compare predictions with labels.")
@MODEL
@DATA
@trusted
@options_of_source
@quiet
@as_json
def evaluate(model, data, trusted, read, quiet, as_json):
    """Compare what MODEL predicts with the labels in DATA."""
    from margins.cli.prediction import evaluate

    return evaluate(read(data), model, trusted=trusted, quiet=quiet, as_json=as_json)


@cli.command(short_help="Which solvers would run, and why.")
@DATA
@options_of_parameters
@options_of_source
@as_json
def explain(data, parameters, read, as_json):
    """Print which solvers `train` would run on DATA, and why; nothing is trained."""
    from margins.cli.studies import explain

    return explain(read(data), parameters, as_json=as_json)


@cli.command(short_help="Train with a sequence of C.")
@DATA
@click.option("--c-min", type=float, default=1e-3, show_default=True, help="The smallest C.")
@click.option("--c-max", type=float, default=1e3, show_default=True, help="The largest C.")
@click.option("--points", type=click.IntRange(1), default=13, show_default=True, help="How many C.")
@click.option("--test", metavar="DATA", help="Samples to predict with every fit.")
@options_of_parameters
@options_of_source
@scale
@quiet
@as_json
def path(data, c_min, c_max, points, test, parameters, read, scale, quiet, as_json):
    """Train with a sequence of C, each fit begun from the one before, and print a line for each."""
    from margins.cli.studies import path, penalties_of

    if "C" in parameters:
        raise CommandError("path sets C itself, from --c-min to --c-max. Got C.")

    return path(
        read(data),
        parameters,
        penalties_of(c_min, c_max, points),
        test=None if test is None else read(test),
        scale=scale,
        quiet=quiet,
        as_json=as_json,
    )


@cli.command(short_help="Cross-validate several algorithms.")
@DATA
@click.argument("algorithms", nargs=-1, metavar="ALGORITHM...")
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Folds.")
@click.option("--scoring", default="accuracy", show_default=True, help="A scorer of scikit-learn.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of folds and fits.")
@click.option("--jobs", type=int, default=None, help="Fits at a time.")
@options_of_source
@scale
@quiet
@as_json
def compare(data, algorithms, folds, scoring, seed, jobs, read, scale, quiet, as_json):
    """Cross-validate ALGORITHMS on the same folds of DATA, and print their differences."""
    from margins.cli.studies import compare

    return compare(
        read(data),
        list(algorithms),
        folds=folds,
        scoring=scoring,
        seed=seed,
        n_jobs=jobs,
        scale=scale,
        quiet=quiet,
        as_json=as_json,
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
    help="Values of a parameter to search; may be repeated.",
)
@click.option(
    "--halving",
    metavar="FACTOR",
    type=click.IntRange(2),
    help="Search by successive halving: few samples for all settings, all for the best.",
)
@click.option("--outer", type=click.IntRange(2), default=10, show_default=True, help="Outer folds.")
@click.option("--inner", type=click.IntRange(2), default=10, show_default=True, help="Inner folds.")
@click.option("--scoring", default="accuracy", show_default=True, help="A scorer of scikit-learn.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of folds and fits.")
@click.option("--jobs", type=int, default=None, help="Fits at a time.")
@click.option("--cache", metavar="FOLDER", help="Where finished fits are kept.")
@click.option("-o", "--output", metavar="FILE", help="The study as JSON, for Study.from_json.")
@click.option(
    "-p",
    "--param",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of all fits; may be repeated.",
)
@options_of_source
@scale
@quiet
@as_json
def study(
    data,
    algorithm,
    grid,
    halving,
    outer,
    inner,
    scoring,
    seed,
    jobs,
    cache,
    output,
    settings,
    read,
    scale,
    quiet,
    as_json,
):
    """Double cross-validation on DATA: an unbiased score of an algorithm with its parameter search."""
    from margins.cli.models import parameters_of
    from margins.cli.studies import grid_of, study

    return study(
        read(data),
        algorithm,
        parameters_of(settings),
        grid_of(grid),
        halving=halving,
        outer=outer,
        inner=inner,
        scoring=scoring,
        seed=seed,
        n_jobs=jobs,
        cache=cache,
        output=output,
        scale=scale,
        quiet=quiet,
        as_json=as_json,
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
    except BrokenPipeError:  # of `margins predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (TypeError, ValueError) as error:  # of what the data or the parameters do not allow
        return _failed(error, WRONG_USAGE)
    except Exception as error:  # of plug-ins, or of memory
        return _failed(f"{type(error).__name__}: {error}", FAILED)


def _failed(message, exit_code):
    print(f"margins: {message}", file=sys.stderr)
    return exit_code
