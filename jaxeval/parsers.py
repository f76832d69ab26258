"""A verb's command line, made of its function: signature, docstring, result."""

import argparse
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jaxeval import cli, errors, outputs, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Parameter

if TYPE_CHECKING:
    from jaxeval.report.document import Result

Verb = Callable[..., object]
Commands = Mapping[str, Verb]  # "" or the name of a subcommand -> its function
_WITHOUT_RESULT = ("None", "int", "str")  # what a function returns that has nothing to save
_RUNS = ("out", "store", "runs")  # parameters that name places of runs
_METAVARS: dict[type, str] = {int: "N", float: "X"}


def start(name: str, commands: Commands) -> None:
    """What `python -m jaxeval.NAME` does."""
    cli.run(lambda: main(name, commands))


def main(name: str, commands: Commands, words: Sequence[str] | None = None) -> int:
    """Parses the words of a verb, calls it, prints and writes what it returns.

    Args:
      words: None: those of the process.

    Returns:
      The exit code.
    """
    words = cli.words(words)
    if words[:1] and words[0] in commands:
        name, function, words = f"{name} {words[0]}", commands[words[0]], words[1:]
    elif "" in commands:
        function = commands[""]
    else:
        _help(name, commands, words)
        return 2
    args = vars(_parsed(of_function(name, function, commands), function, words))
    targets = args.pop("json", None), args.pop("save", []), args.pop("details", False)
    with errors.called_from_shell():
        _refuse_outputs(targets[0], targets[1], args)
        positional, named = _split(function, args)
        found = function(*positional, **named)
    return _deliver(found, *targets)


def of_function(
    name: str, function: Verb, commands: Commands | None = None
) -> argparse.ArgumentParser:
    """The parser of one verb or subcommand."""
    docs = described(function)
    more = [other for other in commands or {} if other and function is (commands or {}).get("")]
    text = docs.text + "".join(f"\n  {cli.called()}{name} {other} --help" for other in more)
    examples = f"examples:\n{docs.examples}" if docs.examples else ""
    parser = cli.parser(name, text, examples)
    for parameter in parameters.of_verb(function):
        if not parameter.python_only:
            _add(parser, parameter, docs.arguments.get(parameter.name, ""))
    if _has_result(function):
        parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
        kinds = ".html page, .md or .tex tables, .json; else a folder for figures; repeatable"
        parser.add_argument("--save", action="append", default=[], metavar="PATH", help=kinds)
        parser.add_argument("--details", action="store_true", help="print all that was computed")
    return parser


class Described(NamedTuple):
    """What a docstring says: its text, a line an argument, and commands as examples."""

    text: str
    arguments: dict[str, str]
    examples: str


def described(function: Callable[..., object]) -> Described:
    """The parts of a docstring in Google's style."""
    parts: dict[str, list[str]] = {"": []}
    section = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        if line.rstrip(":") in ("Args", "Returns", "Raises", "Examples") and line.endswith(":"):
            section = line[:-1]
        parts.setdefault(section, []).append(line)
    named: dict[str, str] = {}
    names: list[str] = []
    for line in parts.get("Args", [])[1:]:
        if line.startswith("  ") and not line.startswith("    ") and ":" in line:
            before, _, line = line.partition(":")
            names = [of.strip().lstrip("*") for of in before.split(",")]
        for name in names if line.strip() else ():
            named[name] = f"{named.get(name, '')} {line.strip()}".strip()
    examples = "\n".join(parts.get("Examples", [])[1:]).strip("\n")
    return Described("\n".join(parts[""]).strip(), named, examples)


def _help(name: str, commands: Commands, words: Sequence[str]) -> None:
    """Shows the subcommands of a verb that does nothing by itself."""
    lines = (
        f"  {other:12}{described(function).text.splitlines()[0]}"
        for other, function in commands.items()
    )
    parser = cli.parser(name, "\n".join(lines), "")
    parser.usage = f"%(prog)s {{{','.join(commands)}}} ..."
    parser.add_argument("command", choices=list(commands), help="one of these")
    if words:
        parser.parse_args(words[:1])  # --help, or an error
    parser.print_help()


def _has_result(function: Verb) -> bool:
    returned = inspect.signature(inspect.unwrap(function)).return_annotation
    return getattr(returned, "__name__", str(returned)) not in _WITHOUT_RESULT


def _add(parser: argparse.ArgumentParser, of: Parameter, about: str) -> None:
    """Adds one parameter: a word by its place, or a flag."""
    if _among_words(of):
        return
    if of.positional:
        nargs = "*" if of.kind in (list, parameters._ChangesOf) else None if of.required else "?"
        metavar = "key=value" if of.kind is parameters._ChangesOf else of.name.upper()
        default = [] if nargs == "*" else None if of.required else of.default
        parser.add_argument(
            of.name, nargs=nargs, default=default, metavar=metavar, help=about.replace("%", "%%")
        )
        return
    flag, shown = f"--{of.name.replace('_', '-')}", _default(of)
    about = (about.rstrip(".") + shown).replace("%", "%%")
    if of.kind is bool:
        action = "store_true" if of.default is False else argparse.BooleanOptionalAction
        parser.add_argument(flag, action=action, default=of.default, help=about)
    elif of.kind in (list, dict):
        metavar = "NAME=VALUE" if of.kind is dict else "A[,B]"
        parser.add_argument(
            flag, action="append", default=[], metavar=metavar, help=about, required=of.required
        )
    else:
        parser.add_argument(
            flag,
            type=_reader(of),
            default=None if of.required else of.default,
            required=of.required,
            choices=of.choices or None,
            # not {a,b}: a choice may hold a comma
            metavar="|".join(of.choices) or _METAVARS.get(of.kind, of.name.upper()),
            help=about,
        )


def _among_words(of: Parameter) -> bool:
    """Whether a parameter holds changes of several configs, which stand among their names."""
    return of.kind is parameters._ChangesOf and not of.positional


def _default(of: Parameter) -> str:
    if isinstance(of.default, bool) or not isinstance(of.default, int | float | str):
        return ""
    shown = f"{of.default:g}" if isinstance(of.default, float) else str(of.default)
    return f" ({shown})" if shown else ""


def _reader(of: Parameter) -> Callable[[str], object]:
    """What makes a word a parameter's value, for argparse."""

    def read(text: str) -> object:
        try:
            return of.check(_value(of, text))
        except (ValueError, OverflowError) as expected:
            message = f"expected {expected}, got {text!r}"
            raise argparse.ArgumentTypeError(message) from None

    return read


def _value(of: Parameter, text: str) -> object:
    """A word as a number where one is expected; what is no number stays text, for `check`."""
    if isinstance(of.bounds, parameters.Numbers):
        parts = [part.strip() for part in text.removesuffix(",").split(",")]
        whole = [int(part) if _is_whole(part) else -1 for part in parts]
        return whole[0] if len(whole) == 1 and "," not in text else whole
    if of.kind is int:
        return int(text) if _is_whole(text) else text
    if of.kind is float:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _parsed(
    parser: argparse.ArgumentParser, function: Verb, words: Sequence[str]
) -> argparse.Namespace:
    """Words in any order; after -- come words whose first letter is a dash."""
    cut = words.index("--") if "--" in words else len(words)
    args = parser.parse_intermixed_args(words[:cut])
    lists = [of for of in parameters.of_verb(function) if of.positional and of.kind is list]
    if words[cut + 1 :]:
        if not lists:
            parser.error(f"{words[cut + 1]}: no such argument")
        setattr(args, lists[-1].name, [*getattr(args, lists[-1].name), *words[cut + 1 :]])
    for of in filter(_among_words, parameters.of_verb(function)):
        words = getattr(args, lists[-1].name)
        changed = [word for word in words if "=" in word and not os.path.exists(word)]
        setattr(args, of.name, changed)
        setattr(args, lists[-1].name, [word for word in words if word not in changed])
    config = getattr(args, "config", None)
    if isinstance(config, str) and "=" in config and not os.path.exists(config):  # only changes
        args.config, args.changes = None, [config, *args.changes]
    return args


def _split(function: Verb, args: dict[str, object]) -> tuple[list[object], dict[str, object]]:
    """Arguments as the function takes them."""
    named: dict[str, object] = {}
    positional: list[object] = []
    kinds = inspect.signature(inspect.unwrap(function)).parameters
    for of in parameters.of_verb(function):
        if of.python_only:
            continue
        value = args[of.name]
        if of.kind is list and not of.positional:
            value = [part for word in _texts(value) for part in word.split(",") if part]
            value = value or of.default
        elif of.kind is dict:
            value = _pairs(of, _texts(value)) or of.default
        if kinds[of.name].kind is inspect.Parameter.VAR_POSITIONAL:
            positional += _texts(value)
        elif of.positional and not named:
            positional.append(value)
        else:
            named[of.name] = value
    return positional, named


def _texts(value: object) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else []


def _pairs(of: Parameter, words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise ConfigError(f"{errors.argument(of.name)}: expected NAME=VALUE, got {word!r}")
        pairs[name] = value
    return pairs


def _refuse_outputs(json: str | None, save: Sequence[str], args: Mapping[str, object]) -> None:
    """Refuses outputs that cannot be written or would replace an input, before any work."""
    from jaxeval.report.document import save_suffix

    if json == "":
        raise ConfigError("--json: expected a path, or - for stdout, got an empty text")
    saved = [path for path in save if save_suffix(path)]
    folders = [path for path in save if path not in saved]
    reads = [
        word
        for name, value in args.items()
        if name not in _RUNS
        for word in ([value] if isinstance(value, str) else _texts(value))
        if isinstance(word, str)
    ]
    runs = [str(args[name]) for name in _RUNS if args.get(name)]
    outputs.refuse_unwritable(
        json, *saved, folder=folders[0] if folders else None, reads=reads, runs=runs
    )


def _deliver(found: object, json: str | None, save: Sequence[str], details: bool) -> int:
    """Writes and prints what a verb returned; the exit code."""
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
