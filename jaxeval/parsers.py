"""A verb's command line, made of its function: signature, docstring, result."""

import argparse
import contextlib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxeval import cli, docstrings, errors, outputs, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Parameter

if TYPE_CHECKING:
    from jaxeval.report.document import Result

_Verb = Callable[..., object]
Commands = Mapping[str, _Verb]  # "" or the name of a subcommand -> its function
_WITHOUT_RESULT = ("None", "int", "str")  # what a function returns that has nothing to save
_RUNS = ("out", "runs")  # parameters that name places of runs
_METAVARS = {int: "N", float: "X", list: "A[,B]", dict: "NAME=VALUE"}


def main(name: str, commands: Commands, words: Sequence[str]) -> int:
    """Parses the words of a verb, calls it, prints and writes what it returns.

    Returns:
      The exit code.
    """
    if words[:1] and words[0] in commands:
        name, function, words = f"{name} {words[0]}", commands[words[0]], words[1:]
    elif "" in commands:
        function = commands[""]
    else:
        _help(name, commands, words)
        return 2
    args = vars(_parsed(_make_parser(name, function, commands), function, words))
    targets = args.pop("json", None), args.pop("save", []), args.pop("details", False)
    with errors.called_from_shell():
        _refuse_outputs(targets[0], targets[1], args)
        positional, named = _arguments(function, args)
        found = function(*positional, **named)
    return _deliver(found, *targets)


def _make_parser(
    name: str, function: _Verb, commands: Commands | None = None
) -> argparse.ArgumentParser:
    """Returns the parser of a verb or subcommand; the verb's own lists its subcommands."""
    found = docstrings.sections(function)
    text, examples = ("\n".join(found.get(head, ())).strip("\n") for head in ("", "Examples:"))
    more = [other for other in commands or {} if other and function is (commands or {}).get("")]
    text += "".join(f"\n  jaxeval {name} {other} --help" for other in more)
    parser = cli.parser(name, text, f"examples:\n{examples}" if examples else "")
    described = docstrings.arguments(found.get("Args:", ()))
    for parameter in parameters.describe(function):
        about = described.get(parameter.name, "").replace("%", "%%")
        if parameter.positional:
            _add_word(parser, parameter, about)
        elif not (parameter.python_only or parameter.changes):  # changes stand among the words
            _add_flag(parser, parameter, about.rstrip("."))
    returned = inspect.signature(inspect.unwrap(function)).return_annotation
    if getattr(returned, "__name__", str(returned)) not in _WITHOUT_RESULT:
        parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
        kinds = ".html page, .md or .tex tables, .json; else a folder for figures; repeatable"
        parser.add_argument("--save", action="append", default=[], metavar="PATH", help=kinds)
        parser.add_argument("--details", action="store_true", help="print all that was computed")
    return parser


def _help(name: str, commands: Commands, words: Sequence[str]) -> None:
    """Shows the subcommands of a verb that does nothing by itself."""
    first = {other: docstrings.sections(function)[""][0] for other, function in commands.items()}
    text = "\n".join(f"  {other:12}{about}" for other, about in first.items())
    parser = cli.parser(name, text, "")
    parser.usage = f"%(prog)s {{{','.join(commands)}}} ..."
    parser.add_argument("command", choices=list(commands), help="one of these")
    if words:
        parser.parse_args(words[:1])  # --help, or an error
    parser.print_help()


def _add_word(parser: argparse.ArgumentParser, parameter: Parameter, about: str) -> None:
    several = parameter.kind is list or parameter.changes
    nargs = "*" if several else None if parameter.required else "?"
    default = [] if several else None if parameter.required else parameter.default
    metavar = "key=value" if parameter.changes else parameter.name.upper()
    parser.add_argument(parameter.name, nargs=nargs, default=default, metavar=metavar, help=about)


def _add_flag(parser: argparse.ArgumentParser, parameter: Parameter, about: str) -> None:
    options: dict[str, Any] = {"default": None if parameter.required else parameter.default}
    if parameter.kind is bool:
        options["action"] = (
            "store_true" if parameter.default is False else argparse.BooleanOptionalAction
        )
    else:
        # not {a,b}: a choice may hold a comma
        options["metavar"] = "|".join(parameter.choices) or _METAVARS.get(
            parameter.kind, parameter.name.upper()
        )
        if parameter.kind in (list, dict):
            options |= {
                "action": "extend",
                "default": [],
                "type": _parts if parameter.kind is list else _pair,
            }
        else:
            options |= {"type": _reader(parameter), "choices": parameter.choices or None}
            if isinstance(parameter.default, int | float | str) and parameter.default != "":
                about += (
                    f" ({parameter.default:g})"
                    if parameter.kind is float
                    else f" ({parameter.default})"
                )
    flag = f"--{parameter.name.replace('_', '-')}"
    parser.add_argument(flag, required=parameter.required, help=about, **options)


def _reader(parameter: Parameter) -> Callable[[str], object]:
    """Returns what makes a word a parameter's value, for argparse."""

    def read(text: str) -> object:
        try:
            return parameter.check(_value(parameter, text))
        except (ValueError, OverflowError) as expected:
            message = f"expected {expected}, got {text!r}"
            raise argparse.ArgumentTypeError(message) from None

    return read


def _value(parameter: Parameter, text: str) -> object:
    """A word as a number where one is expected; other words stay text, for `check`."""
    if isinstance(parameter.bounds, parameters.Numbers):
        parts = [part.strip() for part in text.removesuffix(",").split(",")]
        whole = [int(part) if _is_whole(part) else -1 for part in parts]
        return whole if "," in text else whole[0]
    if parameter.kind is int:
        return int(text) if _is_whole(text) else text
    with contextlib.suppress(ValueError):
        return float(text) if parameter.kind is float else text
    return text


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _pair(text: str) -> list[tuple[str, str]]:
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return [(name, value)]


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _parsed(
    parser: argparse.ArgumentParser, function: _Verb, words: Sequence[str]
) -> argparse.Namespace:
    """Parses words in any order; after -- come words whose first letter is a dash."""
    cut = words.index("--") if "--" in words else len(words)
    args = parser.parse_intermixed_args(words[:cut])
    verb = parameters.describe(function)
    several = next((parameter.name for parameter in verb if parameter.variadic), "")
    if words[cut + 1 :]:
        if not several:
            parser.error(f"{words[cut + 1]}: no such argument")
        getattr(args, several).extend(words[cut + 1 :])
    changes = next((each for each in verb if each.changes), None)
    if changes is not None and not changes.positional:  # of several configs, among their names
        given = getattr(args, several)
        args.changes = [word for word in given if _is_change(word)]
        setattr(args, several, [word for word in given if word not in args.changes])
    for name in ("config", "candidate"):  # there is none, only changes
        if changes is not None and _is_change(getattr(args, name, None)):
            args.changes = [getattr(args, name), *args.changes]
            setattr(args, name, None)
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
            positional, named = [*named.values(), *args[parameter.name]], {}
        elif parameter.kind in (list, dict) and not parameter.changes:
            named[parameter.name] = parameter.kind(args[parameter.name]) or parameter.default
        elif not parameter.python_only:
            named[parameter.name] = args[parameter.name]
    return positional, named


def _refuse_outputs(json: str | None, save: Sequence[str], args: Mapping[str, Any]) -> None:
    """Refuses outputs that cannot be written or would replace an input, before any work."""
    from jaxeval.report.document import save_suffix

    if json == "":
        raise ConfigError("--json: expected a path, or - for stdout, got an empty text")
    saved = [path for path in save if save_suffix(path)]
    folder = next((path for path in save if path not in saved), None)
    values = [value for name, value in args.items() if name not in _RUNS]
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    reads = [word for word in words if isinstance(word, str)]
    runs = [str(args[name]) for name in _RUNS if args.get(name)]
    outputs.refuse_unwritable(json, *saved, folder=folder, reads=reads, runs=runs)


def _deliver(found: object, json: str | None, save: Sequence[str], details: bool) -> int:
    """Writes and prints what a verb returned; returns the exit code."""
    if found is None or isinstance(found, int):
        return found or 0
    if isinstance(found, str):
        print(found, end="")
        return 0
    result: Result = found  # type: ignore[assignment]
    if json:
        from jaxeval import files

        files.write_json(json, result.to_dict())
    if json != "-":
        result.print(details)
    for path in save:
        for written in result.save(path):
            if json != "-":
                print(f"written: {written}")
    return result.exit_code
