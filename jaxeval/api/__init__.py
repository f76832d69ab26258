"""The functions of `import jaxeval`: what the verbs do, for Python and notebooks.

A config is a TOML file, a shipped name, a dict, settings, or None: the embedded default. Training
shows its progress on stderr unless it is `quiet`; Ctrl-C stops it after the epoch, and the same
call goes on. Errors that a user can mend are `JaxevalError`s, a line each.
"""
