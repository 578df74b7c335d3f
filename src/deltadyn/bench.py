"""The names of `deltadyn.bench` in 0.1, for one release: they are in `benchmarks.peers` now."""

from __future__ import annotations

import warnings
from typing import Any

from deltadyn.commands.bench import load_benchmark

NAMES = ("Benchmark", "Row", "Target", "run_benchmark")


def __getattr__(name: str) -> Any:
    """Load a name of the benchmark from the checkout; without one `NoCheckoutError` says so."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"deltadyn.bench.{name} moves out of the package with the next release: in a checkout, "
        f"take {name} from benchmarks.peers.benchmark",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(load_benchmark(), name)
