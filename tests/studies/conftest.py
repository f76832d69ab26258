"""The toy kind is in the registry for the tests of this folder."""

from collections.abc import Iterator

import pytest

from jaxeval.tasks import registry
from tests.studies import toy_kind


@pytest.fixture(scope="module", autouse=True)
def _toy_is_a_kind() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KINDS", toy_kind.KINDS)
        yield
