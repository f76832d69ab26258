"""Another file's member of PyTorch on a GPU, for `device_vs_pytorch`; imports no jax.

The payload is that of the other file, with its name and the device in a file beside it
(`PAYLOAD.device`). A way ends with the precision of float32 products, as jax names it:
"padded float32", "training tensorfloat32".
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import torch


class Member:
    """All that the other member makes is made on the device."""

    def __init__(self, payload: Path, number: int):
        content = json.loads(Path(f"{payload}.device").read_text())
        torch.set_default_device(content["device"])
        self.member = importlib.import_module(content["file"]).Member(payload, number)

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """A turn of the other member, whose result waits for the device."""
        way, _, precision = way.rpartition(" ")
        allowed = precision == "tensorfloat32"
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed
        turn: Callable[[], float] = self.member.turn(way, threads)
        return turn
