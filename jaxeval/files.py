"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from jaxeval.errors import RunError


@contextlib.contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """A stream ("w" text, "wb" bytes) whose contents become the file's when the block ends.

    Its folder is made where it is missing; a block that fails leaves nothing.

    Raises:
      RunError: no room, no permission.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):  # gone where all went well
                os.unlink(temporary)
