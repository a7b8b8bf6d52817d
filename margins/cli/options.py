"""Arguments and options that several commands share."""

import functools
from typing import NamedTuple

import click

from margins.cli.errors import CommandError, samples_in_files
from margins.optional import require
from margins.readers.files import files_in

TABLES = ("csv", "parquet", "arff")
FORMATS = ("auto", "svmlight", *TABLES, "matrix")
SUFFIXES = {
    **{".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arff": "arff"},
    **dict.fromkeys((".npy", ".npz", ".mtx", ".h5ad"), "matrix"),
}
COMPRESSIONS = (".gz", ".bz2", ".xz")

# Options of LIBLINEAR's and LIBSVM's commands, and what they are here.
OF_LIBLINEAR = {
    "-s": "--loss squared_hinge or hinge",
    "-t": "--kernel",
    "-c": "-C",
    "-g": "--gamma",
    "-e": "--eps, the accuracy of the result",
    "-B": "-p intercept_scaling=VALUE, or -p fit_intercept=false",
    "-w": "--class-weight LABEL=WEIGHT",
    "-v": "the command compare",
    "-b": "MarginClassifierCV(calibration=...) in Python",
}


class Command(click.Command):
    """A command that rejects an option given twice, whose first value would be lost."""

    def parse_args(self, ctx, args):
        """Parse arguments as click does; reject LIBLINEAR's options, and repeated ones of one value."""
        for arg in args if self.name in ("train", "predict") else ():
            option = "-w" if arg[:2] == "-w" and arg[2:].lstrip("-").isdigit() else arg
            if option in OF_LIBLINEAR:
                raise CommandError(f"No such option: {arg}. Here it is {OF_LIBLINEAR[option]}.")
        *_, order = self.make_parser(ctx).parse_args(list(args))
        for option in order:
            is_single = isinstance(option, click.Option) and not option.multiple and not option.is_flag
            if is_single and order.count(option) > 1:
                raise CommandError(
                    f"{option.opts[-1]} may be given only once. Got it {order.count(option)} times."
                )
        return super().parse_args(ctx, args)


class Group(click.Group):
    """A group of commands that reject an option given twice."""

    command_class = Command


class Source(NamedTuple):
    """A file of samples, and the options for reading it."""

    path: str  # "-": standard input
    format: str = "auto"  # one of `FORMATS`; "auto": by the extension
    target: str | None = None  # label column of a table; of a matrix: labels in it, or their file
    categorical: tuple[str, ...] = ()  # columns of categories in a table
    zero_based: bool = False  # True: indices in svmlight's format begin at 0
    quiet: bool = False  # True: no notes about features or values that are ignored
    given_delimiter: str | None = None  # of the columns of CSV; None: by the extension

    @property
    def kind(self):
        """The format: one of `FORMATS` except for "auto"."""
        if self.format != "auto":
            return self.format
        by_default = "svmlight" if self.given_delimiter is None else "csv"
        return next((kind for end, kind in SUFFIXES.items() if self._name.endswith(end)), by_default)

    @property
    def delimiter(self):
        """The character between the columns of CSV."""
        return self.given_delimiter or ("\t" if self._name.endswith(".tsv") else ",")

    @property
    def _name(self):
        """The path without the extension of a compression."""
        name = self.path.lower()
        for compression in COMPRESSIONS:
            name = name.removesuffix(compression)
        return name

    @property
    def first_index(self):
        """The index of the first feature in svmlight's format: 0 or 1."""
        return 0 if self.zero_based else 1

    @property
    def is_table(self):
        """True if the file has columns with names."""
        return self.kind in TABLES

    @property
    def has_options(self):
        """True if an option for reading is given."""
        return self != Source(self.path, quiet=self.quiet)

    def check_options(self, needs_labels):
        """Raise CommandError if an option is for another format, or --target is needed but missing."""
        if self.kind != "svmlight" and self.zero_based:
            raise CommandError(
                f"{self.path}: --zero-based is for svmlight's format, but this file is read as "
                f"{'a table' if self.is_table else 'a matrix'}. Leave it out, or give --format svmlight."
            )
        if self.given_delimiter is not None and self.kind != "csv":
            raise CommandError(
                f"{self.path}: --delimiter is for CSV, but this file is read as {self.kind}. Leave it "
                "out, or give --format csv."
            )
        if self.is_table and needs_labels and self.target is None:
            raise CommandError(f"{self.path}: a table needs --target NAME, the label column.")
        if self.kind == "matrix" and needs_labels and self.target is None:
            raise CommandError(
                f"{self.path}: a matrix needs --target, the name of labels in the file (.npz, .h5ad), "
                "or their file (.npy, or text with one label per line)."
            )
        if self.kind == "matrix" and self.categorical:
            raise CommandError(f"{self.path}: --categorical is for tables. Leave it out.")
        if self.kind == "svmlight" and (self.target is not None or self.categorical):
            raise CommandError(
                f"{self.path}: --target and --categorical are for tables, but this file is read in "
                "svmlight's format. If it is a table, give --format csv or --format parquet."
            )


def of_source(command):
    """Add the options for reading files; the command gets `read`, which makes Sources of paths."""

    @click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="auto",
        show_default=True,
        help="Format of DATA. auto: by its extension (.csv, .tsv, .parquet, .arff; matrix: .npy, .npz, "
        ".mtx, .h5ad; otherwise svmlight).",
    )
    @click.option(
        "--delimiter",
        metavar="CHAR",
        help="Character between columns (CSV): ';', tab, space, ... Default: tab for .tsv, else ','.",
    )
    @click.option(
        "--target",
        metavar="NAME",
        help="Label column of a table. Matrices: their labels, or a file of them.",
    )
    @click.option(
        "--categorical",
        metavar="NAME,...",
        multiple=True,
        help="Columns of categories (tables); each category becomes a feature.",
    )
    @click.option(
        "--zero-based",
        is_flag=True,
        help="Feature indices start at 0 (svmlight); the model remembers it.",
    )
    @functools.wraps(command)
    def with_source(format_, delimiter, target, categorical, zero_based, **kwargs):
        names = [name.strip() for text in categorical for name in text.split(",") if name.strip()]
        names, quiet = tuple(dict.fromkeys(names)), kwargs.get("quiet", False)
        options = format_, target, names, zero_based, quiet, _delimiter_of(delimiter)

        def read(*paths):
            with samples_in_files():
                sources = [Source(file, *options) for path in paths for file in files_in(path)]
            for source in sources:
                if source.is_table:
                    require(f"{source.path}: reading it", "pyarrow", "pandas")
            return without_empty_parts(sources, paths)

        return command(read=read, **kwargs)

    return with_source


def without_empty_parts(sources, paths):
    """Return sources without files of Parquet that a folder holds although they have no rows."""
    if len(sources) == len(paths) or not any(source.kind == "parquet" for source in sources):
        return sources
    from margins.readers.parquet import opened

    with samples_in_files():
        kept = [
            source
            for source in sources
            if source.kind != "parquet"
            or source.path in paths
            or opened(source.path, source.path)[0].metadata.num_rows
        ]
    return kept or sources


def _delimiter_of(text):
    """Return the delimiter that an option states; None if it is not given."""
    if text is None:
        return None
    from margins.readers.csv import check_delimiter

    delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    try:
        check_delimiter(delimiter, "--delimiter")
    except ValueError as error:
        raise CommandError(f"{error} Or give tab or space.") from error
    return delimiter


settings = click.option(
    "-p",
    "--param",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Any parameter of the algorithm (see `margins describe`); may be repeated.",
)
# Parameters that have a separate option: name, option, metavar, help.
PARAMETERS = (
    ("C", "-C", "FLOAT", "Penalty of the soft margin. inf: the hard margin."),
    ("eps", "--eps", "FLOAT", "Accuracy to prove."),
    ("loss", "--loss", "NAME", "Loss: squared_hinge or hinge."),
    ("penalty", "--penalty", "NAME", "Penalty: l2, l1 or elasticnet."),
    ("l1_ratio", "--l1-ratio", "FLOAT", "Share of l1 in the elastic net."),
    ("lower", "--lower", "BOUNDS", "Lower bounds of weights: one for all, or FEATURE=BOUND,..."),
    ("upper", "--upper", "BOUNDS", "Upper bounds of weights, likewise."),
    ("kernel", "--kernel", "NAME", "Kernel: linear, rbf, poly, sigmoid or precomputed."),
    ("gamma", "--gamma", "FLOAT", "Parameter of the kernel: scale, auto or a number."),
    ("max_iter", "--max-iter", "INT", "Maximum number of full epochs."),
    ("max_time", "--max-time", "SECONDS", "Time limit for training."),
    (
        "class_weight",
        "--class-weight",
        "WEIGHTS",
        "Factors of C for the classes: balanced, or LABEL=WEIGHT,...",
    ),
    ("random_state", "--seed", "INT", "Seed of the sample orders (default 0). none: a new one."),
    ("n_jobs", "--jobs", "INT", "Number of threads that train classes in parallel."),
)
OF_FIT = ("eps", "kernel", "gamma", "max_iter", "max_time", "random_state", "n_jobs")
# Not defaults in click, so that `-p` may set them without a contradiction.
DEFAULTS = {"random_state": 0}


def of_parameters(*without, of_fit=True):
    """Return a decorator that adds the options of `PARAMETERS` as the dict `parameters`.

    of_fit=False: not those of a fit, `-p` among them.
    """
    without = without if of_fit else OF_FIT
    options = [option for option in PARAMETERS if option[0] not in without]

    def decorate(command):
        @functools.wraps(command)
        def with_parameters(settings=(), **kwargs):
            from margins.cli.models import bounds_of, class_weight_of, parameters_of, value_of

            option_values = {name: kwargs.pop(name) for name, *_ in options}
            readers = {"class_weight": class_weight_of, "lower": bounds_of, "upper": bounds_of}
            parameters = {
                name: readers.get(name, value_of)(text)
                for name, text in option_values.items()
                if text is not None
            }
            by_name = parameters_of(settings)
            for name, option, *_ in options:
                if name in by_name and option_values[name] is not None:
                    raise CommandError(f"{name} may be given only once. Got {option} and -p {name}.")
            parameters |= by_name
            bounds = {name: parameters.pop(name) for name in ("lower", "upper") if name in parameters}
            if bounds:
                parameters = bounded(parameters, bounds)
            defaults = DEFAULTS if of_fit else {}
            return command(parameters=defaults | parameters, **kwargs)

        for name, option, metavar, text in reversed(options):  # the last one added is listed first
            with_parameters = click.option(option, name, metavar=metavar, help=text)(with_parameters)
        return settings(with_parameters) if of_fit else with_parameters

    return decorate


def bounded(parameters, bounds):
    """Return parameters whose penalty has bounds of the weights."""
    from margins.regularisers import PENALTIES, Bounded, regulariser_of

    rest, name = dict(parameters), parameters.get("penalty", "l2")
    if name not in PENALTIES:
        return parameters  # the classifier says what is allowed
    share = rest.pop("l1_ratio", None) if name == "elasticnet" else None
    return rest | {"penalty": Bounded(**bounds, penalty=regulariser_of(name, share))}


def output(text):
    """Return the option for the file that a command writes."""
    return click.option("-o", "--output", metavar="FILE", help=text)


def count(name, least, default, text, most=None):
    """Return an option for a whole number."""
    number = click.IntRange(least, most)
    return click.option(name, type=number, default=default, show_default=True, help=text)


force = click.option(
    "--force",
    is_flag=True,
    help="Overwrite any existing file, except for the files that the command reads.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only results and errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
scale = click.option("--scale", is_flag=True, help="Divide each feature by its largest absolute value.")
seeds = click.IntRange(0, 2**32 - 1)


def of_study(command):
    """Add the options of studies, from which the command gets `options` of `parameter_search`."""

    @of_source
    @click.option(
        "--scoring", default="accuracy", show_default=True, help="Name of a scikit-learn scorer."
    )
    @click.option("--seed", type=seeds, default=0, show_default=True, help="Seed of folds and fits.")
    @click.option("--jobs", "n_jobs", type=int, help="Number of fits to run in parallel.")
    @scale
    @quiet
    @as_json
    @functools.wraps(command)
    def with_options(scoring, seed, n_jobs, quiet, **kwargs):
        progress = False if quiet else None
        options = {"scoring": scoring, "n_jobs": n_jobs, "random_state": seed, "progress": progress}
        return command(options=options, **kwargs)

    return with_options


trusted = click.option(
    "--trust",
    "trusted",
    metavar="TYPE",
    multiple=True,
    help="Plug-in type that the model may contain, as package.module.Class; may be repeated.",
)
algorithm = click.option(
    "-a",
    "--algorithm",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Algorithm, by its name in `margins list`.",
)
DATA = click.argument("data", metavar="DATA")
SEVERAL = click.argument("data", nargs=-1, required=True, metavar="DATA...")
FILES_AND_OUTPUT = click.argument("files", nargs=-1, required=True, metavar="DATA... [OUTPUT]")
FILES = click.argument("files", nargs=-1, required=True, metavar="DATA... [MODEL]")
MODEL = click.argument("model", metavar="MODEL")
