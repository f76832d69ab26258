"""The toy kind is among `tasks.KINDS` for the tests of this folder."""

from collections.abc import Iterator

import pytest

from jaxeval import tasks
from tests.studies import toy_kind


@pytest.fixture(scope="module", autouse=True)
def _toy_is_a_kind() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "KINDS", toy_kind.KINDS)
        yield
