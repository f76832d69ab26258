"""A verb's command line, made of its function: signature, docstring, result."""

import argparse
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxeval import cli, errors, files, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Parameter

if TYPE_CHECKING:
    from jaxeval.report import Result

_Verb = Callable[..., object]
Commands = Mapping[str, Callable[[], _Verb]]  # "" or a subcommand -> imports its function
_WITHOUT_RESULT = ("None", "int", "str")  # what a function returns that has nothing to save
_RUNS = ("out", "runs")  # parameters that name places of runs
_METAVARS = {int: "N", float: "X", list: "A[,B]"}


def main(name: str, commands: Commands, words: Sequence[str]) -> int:
    """Parses the words of a verb, calls it, prints and writes what it returns.

    Returns:
      The exit code.
    """
    subcommands = ""
    if words[:1] and words[0] in commands:
        name = f"{name} {words[0]}"
        function = commands[words[0]]()
        words = words[1:]
    elif "" in commands:
        function = commands[""]()
        if words and not os.path.exists(words[0]) and (near := errors.meant(words[0], commands)):
            raise ConfigError(f"{words[0]}: no such file or subcommand; {near}")
        if len(commands) > 1 and {"-h", "--help"} & {*words}:
            subcommands = _listed(name, commands)
    else:
        parser = cli.parser(name, _listed(name, commands), "")
        parser.usage = "%(prog)s SUBCOMMAND ..."
        if words:
            parser.parse_known_args(words[:1])  # --help
            parser.error(f"{words[0]}: expected one of {', '.join(commands)}")
        parser.print_help()
        return 2
    args = vars(_parsed(_make_parser(name, function, subcommands), function, words))
    json = args.pop("json", None)
    save = args.pop("save", [])
    details = args.pop("details", False)
    with errors.called_from(errors.flag):
        if json is not None or save:
            _refuse_outputs(json, save, args)
        positional, named = _arguments(function, args)
        return _deliver(function(*positional, **named), json, save, details)


def _make_parser(name: str, function: _Verb, subcommands: str) -> argparse.ArgumentParser:
    """Returns the parser of a verb or subcommand.

    Arguments stay words: the function itself checks them (`parameters.verb`).
    """
    found = cli.docstring_sections(function)
    text, examples = ("\n".join(found.get(head, ())).strip("\n") for head in ("", "Examples:"))
    text = "\n\n".join(filter(None, (text, subcommands)))
    parser = cli.parser(name, text, f"examples:\n{examples}" if examples else "")
    described = cli.docstring_arguments(found.get("Args:", ()))
    for parameter in parameters.describe(function):
        if not parameter.python_only:
            _add(parser, parameter, described.get(parameter.name, "").replace("%", "%%"))
    returned = inspect.signature(inspect.unwrap(function)).return_annotation
    if getattr(returned, "__name__", str(returned)) not in _WITHOUT_RESULT:
        parser.add_argument("--json", metavar="PATH", help="write the result as JSON; - is stdout")
        saved = (
            "write an .html page, .md or .tex tables, .json, or a folder of figures; repeatable"
        )
        parser.add_argument("--save", action="append", default=[], metavar="PATH", help=saved)
        parser.add_argument("--details", action="store_true", help="print all results")
    return parser


def _listed(name: str, commands: Commands) -> str:
    """Returns a line for each subcommand of a verb."""
    lines = ["subcommands, each with a --help:"]
    for subcommand, function in commands.items():
        if subcommand:
            about = cli.docstring_sections(function())[""][0]
            lines.append(f"  jaxeval {name} {subcommand:12}{about}")
    return "\n".join(lines)


def _add(parser: argparse.ArgumentParser, parameter: Parameter, about: str) -> None:
    """Adds a word or a flag; changes stand among the words, if these are of several configs."""
    name, kind, default, choices = parameter.name, parameter.kind, parameter.default, None
    several = kind in (list, dict) or parameter.changes
    options: dict[str, Any] = {"help": about.rstrip("."), "default": [] if several else default}
    if parameter.positional:
        nargs = "*" if several else None if parameter.required else "?"
        metavar = "key=value" if parameter.changes else name.upper()
        parser.add_argument(name, nargs=nargs, metavar=metavar, **options)
    if parameter.positional or parameter.changes:
        return
    if kind is bool:
        options["action"] = "store_true" if default is False else argparse.BooleanOptionalAction
    else:
        # not {a,b}: a choice may hold a comma
        form = parameters.PAIRS[name] if kind is dict else _METAVARS.get(kind, name.upper())
        form = "'NAME=VALUE ...'" if name == "enqueue" else form
        form = "PATH" if os.PathLike in parameter.classes else form
        choices = "|".join(parameter.choices) or form
        options |= {"metavar": choices} | ({"action": "append"} if several else {})
        if isinstance(default, int | float | str) and default != "" and not several:
            shown = f"{default:g}" if kind is float else default
            options["help"] += f" (default: {shown})"
    flag = f"--{name.replace('_', '-')}"
    needed = parameter.required
    parser.add_argument(flag, required=needed, **options)


def _parsed(
    parser: argparse.ArgumentParser, function: _Verb, words: Sequence[str]
) -> argparse.Namespace:
    """Parses words in any order; after -- come words whose first letter is a dash."""
    cut = words.index("--") if "--" in words else len(words)
    known = parser._option_string_actions
    for word in words[:cut]:  # before argparse asks for flags that are required
        flag = word.partition("=")[0]
        unknown = flag.startswith("--") and " " not in word and flag not in known
        if unknown and (near := errors.meant(flag, known)):
            raise ConfigError(f"{flag}: no such argument; {near}")
    args = parser.parse_intermixed_args(words[:cut])
    verb = parameters.describe(function)
    several = next((parameter.name for parameter in verb if parameter.variadic), "")
    if words[cut + 1 :]:
        if not several:
            parser.error(f"{words[cut + 1]}: no such argument")
        getattr(args, several).extend(words[cut + 1 :])
    if any(each.changes for each in verb):  # they stand anywhere among the configs
        fixed = [each for each in verb if each.positional and each.kind is str]
        given = [getattr(args, of.name) for of in fixed] + getattr(args, several or "changes")
        args.changes = [word for word in given if _is_change(word)]
        configs = [word for word in given if word is not None and not _is_change(word)]
        for of in fixed:
            if of.required and not configs:
                parser.error(f"expected {of.name.upper()}, found only {given[0]}")
            setattr(args, of.name, configs.pop(0) if configs else None)
        if several:
            setattr(args, several, configs)
        elif configs:
            parser.error(f"{configs[0]}: expected key=value")
    return args


def _is_change(word: object) -> bool:
    """True for key=value that is no file."""
    return isinstance(word, str) and "=" in word and not os.path.exists(word)


def _arguments(function: _Verb, args: Mapping[str, Any]) -> tuple[list[object], dict[str, object]]:
    """Returns positional and named arguments of the function."""
    named: dict[str, object] = {}
    positional: list[object] = []
    for parameter in parameters.describe(function):
        if parameter.variadic:
            positional = [*named.values(), *args[parameter.name]]
            named = {}
        elif not parameter.python_only:
            named[parameter.name] = parameter.of_words(args[parameter.name])
    return positional, named


def _refuse_outputs(json: str | None, save: Sequence[str], args: Mapping[str, Any]) -> None:
    """Refuses outputs that cannot be written or would replace an input, before any work."""
    from jaxeval.report import save_suffix

    if json == "":
        raise ConfigError("--json: expected a path, or - for stdout, got an empty text")
    saved = [path for path in save if save_suffix(path)]
    folder = next((path for path in save if path not in saved), None)
    values = [value for name, value in args.items() if name not in _RUNS]
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    reads = [word for word in words if isinstance(word, str)]
    runs = [str(args[name]) for name in _RUNS if args.get(name)]
    files.refuse_unwritable(json, *saved, folder=folder, reads=reads, runs=runs)


def _deliver(found: object, json: str | None, save: Sequence[str], details: bool) -> int:
    """Writes and prints what a verb returned; returns the exit code."""
    if found is None or isinstance(found, int):
        return found or 0
    if isinstance(found, str):
        if json or save:
            raise ConfigError("--json, --save: this is printed as text; redirect it with > FILE")
        print(found, end="")
        return 0
    result: Result = found  # type: ignore[assignment]
    try:
        if json:
            files.write_json(json, result.to_dict())
        if json != "-":
            result.print(details)
    finally:  # also if the reader of the output has gone
        written = [place for path in save for place in result.save(path)]
    for place in written if json != "-" else ():
        print(f"written: {place}")
    return result.exit_code
