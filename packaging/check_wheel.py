"""Whether an installed deltadyn is whole: kernels, numbers, files and the command line.

Run: python check_wheel.py [FOLDER]

It imports nothing but the package and what that depends on, so it runs where a wheel was installed
and nothing else is there: without a compiler, on every system. With the folder of the sources,
every file of the package there must be in the installed one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import deltadyn as dd
from deltadyn.backends import loader

TOLERANCE = 1e-11  # of the largest torque: roundings, amplified near a singularity
BUILT = (".pyc", ".so", ".pyd", ".compared")
CALLS = (
    "--version --verbose",
    "robots",
    "simulate example-delta --out log.csv",
    "demo --quick --out demo",
)


def check_kernels() -> str:
    """The compiled kernels are there and give NumPy's torques, for every robot of the catalogue."""
    assert loader.available(), loader.absence()
    worst = 0.0
    for name in dd.robot_names():
        robot = dd.load_robot(name)
        motion = dd.motion.adept_cycle(robot)
        tau = dd.inverse_dynamics(robot, motion)
        with loader.switched_off():
            same = dd.inverse_dynamics(robot, motion)
        worst = max(worst, float(np.abs(tau - same).max() / np.abs(same).max()))
    assert worst < TOLERANCE, worst
    return f"{len(dd.robot_names())} robots: kernels and NumPy agree to {worst:.1e} of the torque"


def check_files(sources: Path) -> str:
    """Every file of the package's sources is installed, with the same content."""
    installed, own = Path(dd.__file__).parent, sources / "src" / "deltadyn"
    names = [path.relative_to(own) for path in own.rglob("*") if path.is_file()]
    names = [name for name in names if name.suffix not in BUILT]
    assert len(names) > 500, f"{sources} holds no sources of deltadyn"
    lost = [name.as_posix() for name in names if not (installed / name).is_file()]
    assert not lost, f"not in the wheel: {', '.join(lost)}"
    other = [name for name in names if (own / name).read_bytes() != (installed / name).read_bytes()]
    assert not other, f"other content: {', '.join(name.as_posix() for name in other)}"
    return f"{len(names)} files of the sources are there"


def check_commands() -> str:
    """The command line starts, and the demonstration writes its picture."""
    environment = {**os.environ, "DELTADYN_KERNELS": "on", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for call in CALLS:
            command = [sys.executable, "-m", "deltadyn", *call.split()]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, check=False
            )
            text = (done.stdout + done.stderr).decode(errors="replace")
            assert done.returncode == 0, f"deltadyn {call}: {done.returncode}\n{text}"
        page = Path(folder) / "demo" / "picture.html"
        assert "</html>" in page.read_text("utf-8")
    return f"{len(CALLS)} calls of the command line end well"


def main(arguments: list[str]) -> None:
    installed = Path(dd.__file__).resolve().parent
    print(f"deltadyn {dd.__version__} in {installed}")
    if arguments:
        sources = Path(arguments[0]).resolve()
        assert sources not in installed.parents or "site-packages" in installed.parts, (
            "this is the package of the sources, not an installed one"
        )
        print(check_files(sources))
    print(check_kernels())
    print(check_commands())


if __name__ == "__main__":
    main(sys.argv[1:])
