"""`jaxeval report`: what the runs of a folder say; `jaxeval.load` in Python."""

from jaxeval import parsers, results

COMMANDS: parsers.Commands = {"": results.load}
