"""
Fleets
======

Five robots do the same work; one has more friction, one carries a forgotten tool. Find them from
their logs.
"""

# %%
# Logs of the same motion on five machines.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.fleet import fleet

robot = dd.load_robot("sipro-d3-1200")
motion = dd.motion.y2(robot)
drive = dd.PDFeedforward(robot)
machines = {
    "cell-1": {},
    "cell-2": {},
    "cell-3": {"friction_scale": (1.05, 1.4, 1.0)},
    "cell-4": {},
    "cell-5": {"payload": [(0.0, 0.25)]},
}
logs = {}
for seed, (name, odd) in enumerate(machines.items()):
    run = dd.simulate(robot, motion, drive, preset="lab", seed=seed, **odd)
    logs[name] = [run.recording.replace(payload=None)]  # nobody noted the tool

# %%
# One fit per robot, one of all together, and the outliers.

found = fleet(robot, logs)
print(found)

# %%
# Deviation of each parameter from the fleet's median:

figure, axes = plt.subplots(figsize=(7.2, 3.8))
for place, item in enumerate(found.spreads):
    usual = np.median(item.values)
    change = 100 * (np.asarray(item.values) - usual) / abs(usual)
    odd = [o.member for o in found.outliers if o.parameter == item.name]
    for name, value in zip(found.members, change, strict=True):
        color = "tab:red" if name in odd else "tab:blue"
        axes.plot(value, place, "o", color=color, ms=6, alpha=0.8)
        if name in odd:
            axes.annotate(name, (value, place), (8, -3), textcoords="offset points", color=color)
axes.set_yticks(range(len(found.spreads)), [item.name for item in found.spreads])
axes.invert_yaxis()
axes.axvline(0, color="black", lw=0.8)
axes.margins(x=0.15)
axes.set(xlabel="% from the median of the fleet", title=found.status)
plt.show()

# %%
# ``found.save("robots")`` writes every robot's file and the common one. On the command line:
# ``deltadyn fleet sipro-d3-1200 logs/``, with exit status 1 if there is an outlier.
