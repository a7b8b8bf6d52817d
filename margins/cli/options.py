"""Arguments and options that several commands share."""

import functools

import click

from margins.cli.errors import CommandError
from margins.cli.samples import FORMATS, Source


class Command(click.Command):
    """A command that refuses options whose first value would be lost."""

    def parse_args(self, ctx, args):
        """See click: an option that takes one value may be given once."""
        *_, order = self.make_parser(ctx).parse_args(list(args))
        for option in order:
            is_single = isinstance(option, click.Option) and not option.multiple and not option.is_flag
            if is_single and order.count(option) > 1:
                raise CommandError(
                    f"{option.opts[-1]} may be given once. Got {order.count(option)} of it."
                )
        return super().parse_args(ctx, args)


class Group(click.Group):
    """The group of these commands."""

    command_class = Command


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
    @click.option(
        "--zero-based", is_flag=True, help="Indices of svmlight's format begin at 0; models keep it."
    )
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
    ("kernel", "--kernel", "NAME", "linear, rbf, poly or sigmoid."),
    ("gamma", "--gamma", "FLOAT", "Of the kernel: scale, auto or a number."),
    ("max_iter", "--max-iter", "INT", "Full epochs at most."),
    ("max_time", "--max-time", "SECONDS", "Seconds of training at most."),
    ("class_weight", "--class-weight", "WEIGHTS", "Factors of C: balanced, or LABEL=WEIGHT,..."),
    ("random_state", "--seed", "INT", "Of the orders of the samples (default 0); none: a new one."),
    ("n_jobs", "--jobs", "INT", "Threads, of several classes."),
)
# Not of click: `-p` may set them without a contradiction.
DEFAULTS = {"random_state": 0}


def options_of_parameters(*without):
    """Return a decorator that adds the options of parameters, except those named.

    The command gets `parameters`, a dict.
    """
    options = [option for option in PARAMETERS if option[0] not in without]

    def decorate(command):
        @functools.wraps(command)
        def with_parameters(*args, settings, **kwargs):
            from margins.cli.models import class_weight_of, parameters_of, value_of

            given = {name: kwargs.pop(name) for name, *_ in options}
            readers = {"class_weight": class_weight_of}
            parameters = {
                name: readers.get(name, value_of)(text)
                for name, text in given.items()
                if text is not None
            }
            by_name = parameters_of(settings)
            for name, option, *_ in options:
                if name in by_name and given[name] is not None:
                    raise CommandError(f"{name} may be given once. Got {option} and -p {name}.")
            return command(*args, parameters={**DEFAULTS, **parameters, **by_name}, **kwargs)

        for name, option, metavar, text in reversed(options):  # the last one added is listed first
            with_parameters = click.option(option, name, metavar=metavar, help=text)(with_parameters)
        return settings(with_parameters)

    return decorate


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


force = click.option(
    "--force",
    is_flag=True,
    help="Overwrite an existing file, whatever it holds, but none that is read.",
)
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
SEVERAL = click.argument("data", nargs=-1, required=True, metavar="DATA...")
# "DATA [OUTPUT]", or, with -o, data files alone.
FILES_AND_OUTPUT = click.argument("files", nargs=-1, required=True, metavar="DATA... [OUTPUT]")
# "DATA MODEL", or, with -o, data files alone.
FILES = click.argument("files", nargs=-1, required=True, metavar="DATA... [MODEL]")
MODEL = click.argument("model", metavar="MODEL")
