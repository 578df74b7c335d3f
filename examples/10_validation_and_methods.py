"""
Methods and models compared
===========================

Three methods and four models on one log: the model matters more than the algorithm. The residual
shows what is missing.
"""

# %%
# Two motions on the bench, for training and for validation.

import time

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.identification import Shared
from deltadyn.validation import compare

robot = dd.load_robot("sipro-d3-1200")
drive = dd.PDFeedforward(robot)
bench = {"controller": drive, "preset": "industrial"}
exc = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=5, starts=1, jobs=1)
training = dd.simulate(robot, exc.motion, seed=1, **bench).recording
held_out = dd.simulate(robot, dd.motion.y1(robot), seed=2, **bench).recording

# %%
# The methods have different objectives and constraints (:doc:`/how-to-choose`). ``Shared`` reads
# the log and looks for the machine's terms once for each model.

CHOICES = {
    "convex/exact": ("convex", "exact"),
    "base/exact": ("base", "exact"),
    "l1/exact": ("l1", "exact"),
    "convex/rigid": ("convex", "rigid"),
    "base/virtual-work": ("base", "virtual-work"),
    "l1/virtual-work": ("l1", "virtual-work"),
    "base/half-half": ("base", "half-half"),
}
fits, log = {}, Shared(robot, training)
print(f"{'method/model':<20}{'parameters':>11}{'seconds':>9}  consistent")
for name, (method, model) in CHOICES.items():
    begin = time.perf_counter()
    fits[name] = dd.identify(robot, log, method, model=model, unidentifiable="hold")
    seconds = time.perf_counter() - begin
    print(f"{name:<20}{len(fits[name].names):>11}{seconds:>9.2f}  {fits[name].consistent}")

# %%
# ``compare`` ranks them on the held-out motion in one band, with a test of significance.

both = compare({"data sheet": robot, **fits}, held_out)
print(both.verdict)

figure, axes = plt.subplots(figsize=(7.2, 3.8))
errors = {name: 100 * both[name].relative_rms for name in fits}
colors = ["tab:orange" if "work" in name or "half" in name else "tab:blue" for name in fits]
bars = axes.barh(list(errors), list(errors.values()), color=colors)
axes.bar_label(bars, fmt="%.1f", padding=3, fontsize="small")
axes.invert_yaxis()
axes.margins(x=0.1)
before = 100 * both["data sheet"].relative_rms
axes.set(xlabel=f"% of the torque's standard deviation (data sheet: {before:.0f} %)")
axes.set_title("RMS error on held-out motion")
plt.show()

# %%
# Errors of the best fit by part of the motion. Near standstill static friction can hold any
# torque; for feedforward the rows of moving axes count.

best = both["convex/exact"]
for segment in best.segments:
    print(f"{segment.name:<12}", segment.metrics.rms.round(2), "N m RMS")

# %%
# The diagnosis names the likely cause of the residual, here a kilogram that is not in the log:

loaded = dd.simulate(robot, dd.motion.y1(robot), seed=3, payload=[(0.0, 1.0)], **bench).recording
found = dd.validate(fits["convex/exact"], loaded.replace(payload=None)).diagnosis
print("likely cause:", found.cause)
print(found.of("payload").sentence)

figure, axes = plt.subplots(figsize=(7.2, 3.0))
axes.plot(best.t, best.residual[:, 0], lw=0.8, color="tab:blue")
axes.set(xlabel="time (s)", ylabel="N m", title="Residual of drive 1 on held-out motion")
axes.margins(x=0)
limit = 1.1 * np.abs(best.residual[:, 0]).max()
axes.set_ylim(-limit, limit)
plt.show()
