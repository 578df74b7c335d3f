"""Speed beside the peers, measured in one run: `deltadyn bench`."""

from deltadyn.bench.benchmark import run_benchmark
from deltadyn.bench.rows import Benchmark, Row, Target

__all__ = ["Benchmark", "Row", "Target", "run_benchmark"]
