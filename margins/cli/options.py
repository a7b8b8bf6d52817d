"""Arguments and options that several commands share."""

import functools

import click

from margins.cli.samples import FORMATS, Source


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
        names = [name.strip() for text in categorical for name in text.split(",") if name.strip()]

        def read(path, quiet=False):
            return Source(path, format_, target, tuple(dict.fromkeys(names)), zero_based, quiet)

        return command(*args, read=read, **kwargs)

    return with_source


settings = click.option(
    "-p",
    "--param",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Any parameter of the algorithm, see `margins describe`; may be repeated.",
)
# Parameters that have options of their own: name, option, kind of value, help.
PARAMETERS = (
    ("C", "-C", "FLOAT", "Penalty of the soft margin; inf: the hard margin."),
    ("eps", "--eps", "FLOAT", "Accuracy to prove."),
    ("loss", "--loss", "NAME", "squared_hinge or hinge."),
    ("kernel", "--kernel", "NAME", "linear, rbf or poly."),
    ("gamma", "--gamma", "FLOAT", "Of the kernel: scale, auto or a number."),
    ("max_iter", "--max-iter", "INT", "Full epochs at most."),
    ("max_time", "--max-time", "SECONDS", "Seconds of training at most."),
    ("random_state", "--seed", "INT", "Of the orders of the samples; none: another one each time."),
    ("n_jobs", "--jobs", "INT", "Threads, of several classes."),
)
DEFAULTS = {"random_state": "0"}


def options_of_parameters(command):
    """Add the options of parameters; the command gets `parameters`, a dict."""

    @functools.wraps(command)
    def with_parameters(*args, settings, **kwargs):
        from margins.cli.models import parameters_of, value_of

        given = {name: kwargs.pop(name) for name, *_ in PARAMETERS}
        parameters = {name: value_of(text) for name, text in given.items() if text is not None}
        return command(*args, parameters={**parameters, **parameters_of(settings)}, **kwargs)

    for name, option, metavar, text in reversed(PARAMETERS):  # the last one added is listed first
        default = DEFAULTS.get(name)
        with_parameters = click.option(
            option, name, metavar=metavar, default=default, show_default=True, help=text
        )(with_parameters)
    return settings(with_parameters)


def options_of_study(command):
    """Add the options that all studies have; the command gets a dict of them, as `options`."""

    @click.option("--scoring", default="accuracy", show_default=True, help="A scorer of scikit-learn.")
    @click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Of folds and fits.",
    )
    @click.option("--jobs", "n_jobs", type=int, default=None, help="Fits at a time.")
    @scale
    @quiet
    @as_json
    @functools.wraps(command)
    def with_options(*args, scoring, seed, n_jobs, scale, quiet, as_json, **kwargs):
        options = {
            "scoring": scoring,
            "seed": seed,
            "n_jobs": n_jobs,
            "scale": scale,
            "quiet": quiet,
            "as_json": as_json,
        }
        return command(*args, options=options, **kwargs)

    return with_options


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
