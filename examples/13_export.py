"""
Export to C
===========

Export the model as C for a drive, compile it, call it and compare it with Python.
"""

# %%
# Two files of C99 without allocation, global variables or a library but ``math.h``, with the
# robot's numbers and the controller's signs and offsets.

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200").with_friction(viscous=0.7, coulomb=2.0, smoothing=0.05)
folder = Path(mkdtemp()) / "controller"
written = dd.export(robot, "c", folder)
for name in sorted(path.name for path in folder.iterdir()):
    print(f"{name:<24}{(folder / name).stat().st_size / 1e3:8.1f} kB")

# %%
# If there is a compiler, build a library and call it sample by sample, as in a controller.

move = dd.motion.gate_move(robot, [-0.2, 0, -0.8], [0.2, 0.1, -0.8], lift=0.05, duration=0.4)
expected = dd.inverse_dynamics(robot, move)
compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
found = None
if compiler is None:
    print("There is no C compiler here; the files are in", folder.name)
else:
    (source,) = folder.glob("*_delta.c")
    library = folder / "model.so"
    call = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared"]
    subprocess.run([*call, "-fPIC", str(source), "-lm", "-o", str(library)], check=True)
    three = ctypes.c_double * 3
    feedforward = getattr(ctypes.CDLL(str(library)), source.stem[: -len("_delta")] + "_feedforward")
    feedforward.argtypes = [three, three, three, ctypes.c_double, three]
    found, tau = np.empty_like(expected), three()
    for row in range(len(move)):
        status = feedforward(*(three(*x[row]) for x in (move.p, move.pd, move.pdd)), 0.0, tau)
        assert status == 0, f"status {status} at sample {row}"
        found[row] = tau
    print(f"built by {compiler}; {len(move)} samples")
    print(f"largest |C - Python|: {np.abs(found - expected).max():.1e} N m")

# %%
# The head of the file names robot, version, units and fingerprint.

print("\n".join(next(folder.glob("*_delta.h")).read_text().splitlines()[:14]))

# %%
# The torque that the drive feeds forward:

figure, axes = plt.subplots(figsize=(7.2, 3.2))
axes.plot(move.t, expected, label=[f"drive {axis}, Python" for axis in (1, 2, 3)])
if found is not None:
    axes.plot(move.t[::40], found[::40], "k.", ms=4)
    axes.plot([], [], "k.", ms=4, label="C")
axes.set(xlabel="time (s)", ylabel="torque (N m)", title="Feedforward of a pick-and-place move")
axes.legend(ncols=2, fontsize="small")
plt.show()

# %%
# Other targets: ``structured-text`` for PLCs, ``mjcf`` for MuJoCo, ``fmu`` for co-simulation,
# ``sheets`` for the parameters of other transformations (:doc:`/export`).
