"""What the server of tests/processes.py imports: the whole package, and no device."""

import gc
import importlib
from pathlib import Path

import orbax.checkpoint  # noqa: F401  (by whatever trains, after it has begun)

import jaxeval

_PACKAGE = Path(jaxeval.__file__).parent

for _file in sorted(_PACKAGE.rglob("*.py")):
    importlib.import_module(".".join(_file.relative_to(_PACKAGE.parent).with_suffix("").parts))

gc.collect()
gc.freeze()  # forks need not look through it, nor copy it
