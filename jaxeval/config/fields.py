"""Types of fields that settings share, with the values that are possible."""

from typing import Annotated

import pydantic
from pydantic.fields import FieldInfo

from jaxeval.config import markers

# the recurrent kernel of a layer of H units, [2H, 4H], then has 2^31 numbers, 8 GB
_WIDEST = 2**14
_MOST = 2**31 - 1  # devices count in 32 bits
Count = Annotated[int, pydantic.Field(ge=1, le=_MOST)]  # of epochs, sentences ...
Natural = Annotated[int, pydantic.Field(ge=0, le=_MOST)]  # the same from 0
Column = Annotated[int, pydantic.Field(ge=1, le=2**16)]  # of a file, from 1
Widths = Annotated[int, pydantic.Field(ge=1, le=128)]  # to pad to; each is compiled by itself
Length = Annotated[int, pydantic.Field(ge=1, le=2**14)]  # of a padded sequence, in symbols
Size = Annotated[int, pydantic.Field(ge=1, le=_WIDEST)]  # of a vector or layer
Layers = Annotated[int, pydantic.Field(ge=1, le=128)]  # each is compiled by itself
Rows = Annotated[int, pydantic.Field(ge=1, le=2**20)]  # of a batch, all in memory at once
Rate = Annotated[float, pydantic.Field(ge=0, lt=1)]  # of dropout, and other probabilities
LearningRate = Annotated[float, pydantic.Field(ge=0, le=1000)]
FilePattern = Annotated[str, pydantic.Field(description="file name pattern")]
Name = Annotated[str, markers.IMMATERIAL, pydantic.Field(description="shown in tables")]
CorpusPath = Annotated[
    str | None,
    markers.IMMATERIAL,
    pydantic.Field(
        min_length=1, description="folder of the files, or one file; absent: generated"
    ),
]


def about(text: str) -> FieldInfo:
    """What `jaxeval configs keys` says of a field."""
    field: FieldInfo = pydantic.Field(description=text)
    return field
