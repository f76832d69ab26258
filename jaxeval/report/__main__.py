"""`python -m jaxeval.report`: what the runs of a folder say; `jaxeval.load` in Python."""

import functools

from jaxeval import parsers, results

COMMANDS: parsers.Commands = {"": results.load}
main = functools.partial(parsers.main, "report", COMMANDS)

if __name__ == "__main__":
    parsers.start("report", COMMANDS)
