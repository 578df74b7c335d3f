"""The exact model on JAX: torques per second, and their share of what copying the arrays allows.

Run: python -m benchmarks.gpu [--samples 1e6 1e7 1e8] [--json out.json]
Small, on any machine: python -m benchmarks.gpu --quick

Needs numpy, scipy, pyyaml and jax, and must be run from this folder's parent; src/ is found by
itself.

"share" is the time that reading the inputs once and writing the outputs once takes at the speed of
a copy of the same arrays, over the time of the torques. The copy is a compiled program that adds
inputs and writes as many outputs: the same bytes with almost no arithmetic. Times are the best of
several repeats, after a first call that compiles; each repeat waits until all its results exist.
Every result is compared with NumPy's on a part of the samples before it is timed.

"public" is State and inverse_dynamics under jit, of which only the torque is returned; "rows" is
packed_torque on arrays (N, dof); "columns" takes arrays (dof, N); "components" is torque_components
on 3 dof arrays (N,); "constants" is the same with the robot's numbers as constants of the program;
"kernel" is the same source in one Pallas kernel for Triton, an experiment, with --kernel.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from benchmarks.gpu_batch import monte_carlo_rows, rollout_rows, screening_rows
from benchmarks.gpu_inverse import forward_rows, inverse_rows
from benchmarks.gpu_parts import Row, jax, short
from deltadyn import backends as kernels

TARGET = 8e9  # 3-DOF torques per second in float64, on an H200


def main() -> None:
    """Run all parts and print a table; write JSON where asked."""
    arguments = _arguments()
    jax.config.update("jax_enable_x64", True)
    record: Row = {"machine": _machine(), "rows": [], "targets": []}
    for dof in (3, 4):
        for precision in ("float64", "float32"):
            for count in arguments.samples:
                _guard(record, inverse_rows, dof, precision, int(count), arguments.kernel)
        _guard(record, forward_rows, dof, int(max(arguments.samples)) // 10)
    _guard(record, rollout_rows, int(arguments.robots), int(arguments.ticks))
    _guard(record, monte_carlo_rows, int(arguments.draws))
    _guard(record, screening_rows, int(arguments.starts))
    _targets(record)
    print(_table(record))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _guard(record: Row, work: Callable[..., list[Row]], *arguments: Any) -> None:
    """Add the rows of a part; a part that fails leaves its problem and not the others'."""
    began = time.perf_counter()
    try:
        rows = work(*arguments)
    except Exception as problem:
        rows = [{"what": f"{work.__name__}{arguments}", "dof": 0, "problem": short(problem)}]
    print(
        f"{work.__name__}{arguments}: {time.perf_counter() - began:.1f} s",
        file=sys.stderr,
        flush=True,
    )
    record["rows"] += rows


def _targets(record: Row) -> None:
    torques = [
        row
        for row in record["rows"]
        if row["dof"] == 3
        and row.get("precision") == "float64"
        and "agrees" in row
        and row["what"].startswith("inverse dynamics")
        and row["agrees"]
    ]
    if torques:
        top = max(torques, key=lambda row: row["per_second"])
        record["targets"].append(
            {
                "what": "3-DOF inverse dynamics in float64, torques/s",
                "value": top["per_second"],
                "target": TARGET,
                "met": top["per_second"] >= TARGET,
                "by": top["what"],
                "share_of_copy": top["share_of_copy"],
            }
        )


def _table(record: Row) -> str:
    lines = [f"machine: {record['machine']['device']}, {record['machine']['software']}"]
    head = f"{'dof':>3} {'what':<50}{'float':>6}{'count':>12}{'per second':>13}"
    lines.append(head + f"{'TB/s':>8}{'share':>8}{'error':>10}")
    for row in record["rows"]:
        if "problem" in row:
            lines.append(f"{row['dof']:>3} {row['what']:<50} FAILED: {row['problem']}")
            continue
        moved, share, error = (row.get(k) for k in ("bytes_per_second", "share_of_copy", "error"))
        line = f"{row['dof']:>3} {row['what']:<50}{row['precision'][5:]:>6}{row['count']:>12,}"
        line += f"{row['per_second']:>13.4g}{'' if moved is None else f'{moved / 1e12:.3f}':>8}"
        line += f"{'' if share is None else f'{share:.2f}':>8}"
        line += f"{'' if error is None else f'{error:.1e}':>10}"
        lines.append(line if row.get("agrees", True) else f"{line}  DIFFERS from NumPy")
    for item in record["targets"]:
        verdict = "met" if item["met"] else "NOT met"
        lines.append(
            f"{item['what']}: {item['value']:.3g}, target {item['target']:.3g} {verdict} "
            f"({item['by']}, {100 * item['share_of_copy']:.0f} % of the copy limit)"
        )
    return "\n".join(lines)


def _machine() -> Row:
    device = jax.devices()[0]
    software = f"jax {jax.__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "software": software,
        "compiled kernels": kernels.status(),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=float, nargs="+", default=[2**20, 2**24, 2**26])
    parser.add_argument("--robots", type=float, default=1e6, help="different robots in the rollout")
    parser.add_argument("--ticks", type=float, default=100, help="Runge-Kutta steps of the rollout")
    parser.add_argument("--draws", type=float, default=1e5, help="machines of the Monte Carlo")
    parser.add_argument("--starts", type=float, default=16384, help="excitation motions to screen")
    parser.add_argument("--kernel", action="store_true", help="try the Pallas kernel as well")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, for a machine without GPU"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.samples, arguments.robots, arguments.ticks = [2**16], 1000, 20
        arguments.draws, arguments.starts = 1000, 512
    return arguments


if __name__ == "__main__":
    main()
