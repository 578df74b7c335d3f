"""Identification of machines that have what robot files leave out: `python -m benchmarks.machines`.

The machines are those of `tests.machines`, a plant that shares nothing with the model.
"""

from benchmarks.machines.trial import WAYS, Asked, Trial, measure

__all__ = ["WAYS", "Asked", "Trial", "measure"]
