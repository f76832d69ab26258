"""Nothing that a test of this folder makes stays behind; examples may take any time."""

import tempfile
from collections.abc import Iterator

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "patient", deadline=None
)  # other processes may take the cores
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="module")
def _temporary_files_with_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """tfds makes folders for downloads that it does not remove, in fixtures of modules as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        yield
