"""
The first hour with your own robot
==================================

An own robot file from a data sheet, and a log that no part of deltadyn made: look at both, put the
log right, fit, validate, weigh picks, export. The page *Your own robot* walks the same way on the
command line.
"""

# %%
# The robot file, from the data sheet and a scale. Friction is not known yet. The check shows the
# numbers that follow from it; compare them with what you know of the machine.

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.motion import FourierSeries, fourier_motion
from deltadyn.payload import NoiseModel, find_picks
from deltadyn.payload.bench import pick_plan
from deltadyn.recording.signal import read_switch
from deltadyn.robot import Arm, Platform

folder = Path(mkdtemp())
SHEET = """\
deltadyn: 1
name: mine
geometry:
  base_radius_mm: 210
  platform_radius_mm: 60
  arm_length_mm: 320
  strut_length_mm: 780
arm: {mass_kg: 1.1, com_mm: 130, inertia_kgm2: 0.012}
strut: {rods: 2, mass_g: 150, uniform: true}
platform: {mass_kg: 0.75}
drives:
  gear_ratio: 25
  rotor_inertia_kgcm2: 1.8
  rotor_side: motor_side
limits:
  angle_min_deg: -40
  angle_max_deg: 95
  torque_peak_Nm: 150
  torque_rms_Nm: 50
  payload_kg: 3
  workspace: {radius_mm: 400, z_min_mm: -800, z_max_mm: -620}
"""
mine = folder / "mine.yaml"
mine.write_text(SHEET)
robot = dd.load_robot(mine)
print(dd.check(mine))

# %%
# The machine itself, which nobody knows: other masses, and friction. Its drives log motor degrees
# and currents; drive 2 counts backwards and was homed 30 degrees off. The scope writes a German CSV
# file in cp1252, with decimal commas and milliseconds, and loses 20 rows.

machine = robot.replace(platform=Platform(0.9), arms=Arm(1.25, 0.14, 0.014))
machine = machine.with_friction(viscous=[0.9, 1.1, 1.0], coulomb=[2.1, 2.4, 2.2])
CONSTANT, GEAR = 0.62, 25.0  # N m/A of the motor's data sheet


def scope(motion: dd.Motion, name: str, seed: int, gripper: tuple = ()) -> Path:
    """Run a motion on the machine and write what its scope would; `gripper` are picks to carry."""
    drive = dd.PDFeedforward(machine)
    run = dd.simulate(machine, motion, drive, preset="lab", seed=seed, payload=gripper)
    log = run.recording.rows(0, None, 2)  # the drive runs at 2 kHz, the scope at 1 kHz
    sign, zero = np.array([1.0, -1.0, 1.0]), np.array([0.0, 30.0, 0.0])
    position = GEAR * (sign * np.degrees(log.q) + zero)
    current = sign * log.tau / (GEAR * CONSTANT)
    names = ["Zeit [ms]", *(f"Achse{k}.ActPos [°]" for k in (1, 2, 3))]
    names += [f"Achse{k}.ActCurrent [A]" for k in (1, 2, 3)]
    columns = [1e3 * log.t, *position.T, *current.T]
    if gripper:
        times, masses = np.array(gripper).T
        held = masses[np.maximum(np.searchsorted(times, log.t) - 1, 0)] > 0
        names, columns = [*names, "Greifer.Zu"], [*columns, held & (log.t >= times[0])]
    rows = np.column_stack(columns)
    lost = np.random.default_rng(seed).choice(np.arange(100, len(rows) - 100), 20, replace=False)
    cells = [[f"{x:.9g}".replace(".", ",") for x in row] for row in np.delete(rows, lost, axis=0)]
    path = folder / name
    path.write_bytes("\r\n".join(";".join(row) for row in [names, *cells]).encode("cp1252"))
    return path


def wander(seed: int) -> dd.Motion:
    """Eight periods of a random motion about the middle of the workspace."""
    rng = np.random.default_rng(seed)
    sine, cosine = rng.normal(size=(2, 3, 5)) / np.arange(1, 6)
    reach = np.array([[0.3], [0.3], [0.08]])  # m
    series = FourierSeries(0.5, np.array([0.0, 0.0, -0.71]), sine, cosine)
    widest = np.abs(series.at(np.linspace(0, 2, 400)).p - series.offset).max(axis=0)[:, None]
    series = FourierSeries(
        0.5, series.offset, sine * reach / widest / 1.2, cosine * reach / widest / 1.2
    )
    return fourier_motion(robot, series, periods=8, rate=2000.0)


log = scope(wander(1), "log.csv", seed=1)
held_out = scope(wander(2), "held-out.csv", seed=2)
plan = pick_plan(robot, 4, seed=5, masses=(0.3, 2.5))
picks = scope(plan.motion, "picks.csv", seed=3, gripper=plan.payload)
print(log.read_bytes()[:250].decode("cp1252"))

# %%
# The check takes every column for what it is, and finds that axis 2 counts backwards and stands
# off. The torque constant cannot be found from the data; it asks for it.

looked = dd.check(mine, log)
print(looked.verdict, *looked.next, sep="\n")
found = looked.logs[0].conventions
print(found.block)

before, after = looked.logs[0].explained
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.2, 4.6), sharex=True)
for axes, part, title in ((top, before, "as read"), (bottom, after, "put right")):
    shown = (part.t > 6) & (part.t < 8)
    axes.plot(part.t[shown], part.measured[shown, 1], "k", lw=1.6, label="current of axis 2")
    axes.plot(part.t[shown], part.predicted[shown, 1], color="tab:orange", label="explained")
    axes.set(title=title)
bottom.set(xlabel="time (s)")
top.legend(loc="upper right")
figure.tight_layout()
plt.show()

# %%
# A torque tells an offset to some degrees only. So look at the homing mark of axis 2: it is 30
# degrees off. Write the block with 30 into the robot file, give the torque constant, look again.

mine.write_text(SHEET + "controller:\n  sign: [1, -1, 1]\n  offset_deg: [0, 30, 0]\n")
options = {"torque_constant": CONSTANT}
looked = dd.check(mine, log, **options)
print(looked.verdict)

# %%
# Fit, and judge the fit on the motion that it has not seen.

robot = dd.load_robot(mine)
fit = dd.identify(robot, dd.read_recording(log, robot, **options))
fit.robot.save(folder / "fitted.yaml")
print(f"platform and struts: {fit['M_P']:.3f} kg; Coulomb friction of axis 2: {fit['Fc2']:.2f} N m")
unseen = dd.read_recording(held_out, robot, **options)
for name, model in (("file", robot), ("fit", fit.robot)):
    print(f"error of the {name}:", np.round(dd.validate(model, unseen).rms, 2), "N m RMS")

# %%
# Weigh picks, with the first log as the empty run and the signal of the gripper, which is a column
# of the log; then export.

empty = NoiseModel.of(fit, dd.read_recording(log, robot, **options))
carried = dd.read_recording(picks, robot, **options)
held = read_switch(picks, "Greifer.Zu", carried, None)
weighed = find_picks(fit, carried, noise=empty, holding=held.tolist())
print(weighed.table)
print("true:", ", ".join(f"{cycle.mass:.3f}" for cycle in plan.cycles), "kg")
exported = dd.export(fit.robot, "c", folder / "c")
print(sorted(path.name for path in (folder / "c").iterdir())[:4])
