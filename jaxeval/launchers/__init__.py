"""Engines that run the jobs of a study: processes on this machine, Slurm, Ray.

`local:N`, `slurm[:FILE.toml]` and `ray[:ADDRESS]` are the values of `--launch`.
"""

import importlib
from typing import TYPE_CHECKING

from jaxeval import backend
from jaxeval.errors import ConfigError, argument

if TYPE_CHECKING:
    from jaxeval.studies.launching import Launcher

HERE = "local:1"  # this process
_MOST = 1024  # local processes
_ENGINES = ("local", "slurm", "ray")


def prepare(text: str) -> "Launcher | None":
    """Prepares JAX, which must not be imported yet; returns the launcher of a text.

    For `local:1`, which is this process, that is None. Else this process leaves accelerators
    alone: they are for the processes of jobs.

    Raises:
      ConfigError: no such engine, or options that it does not have.
      RunError: JAX cannot be used, or the engine is not installed.
    """
    backend.prepare()
    name, _, options = text.partition(":")
    count = int(options[:9]) if options.isascii() and options.isdigit() else 0
    if name not in _ENGINES or (name == "local" and not 1 <= count <= _MOST):
        expected = "expected local:N, slurm, slurm:FILE.toml, ray or ray:ADDRESS"
        raise ConfigError(f"{argument('launch', text)}: {expected}")
    if text == HERE:
        return None
    import jax

    jax.config.update("jax_platforms", "cpu")
    # by name: what engines import must not be imported before JAX is prepared
    engines = importlib.import_module("jaxeval.launchers.engines")
    launcher: Launcher = engines.MAKERS[name](options)
    return launcher
