"""
What your machine has
=====================

A log shows more than masses and friction: gears that lose a share of their torque, ripple, limbs
that differ, a delay. ``identify`` looks for such terms, and says how sure it is.
"""

# %%
# The bench replaces the machine. What the robot file does not know: gears that lose 4 % of the
# torque through them, Stribeck friction, 64 waves of ripple per turn, and arms that differ.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200")
hidden = {"load": 0.04, "stribeck": 0.3, "ripple": 0.02, "arm_scale": (1.04, 0.98, 1.0)}


def record(motion: dd.Motion, seed: int) -> dd.Recording:
    """The log of this machine."""
    drive = dd.PDFeedforward(robot)
    bench = {"controller": drive, "preset": "lab", "gear_frequency": None, **hidden}
    return dd.simulate(robot, motion, seed=seed, **bench).recording


excitation = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=3, starts=1, jobs=1)
motions = (excitation.motion, dd.motion.y2(robot), dd.motion.y3(robot))
logs = [record(motion, seed) for seed, motion in enumerate(motions)]
held_out = record(dd.motion.y1(robot), seed=9)

# %%
# Nothing has to be asked for. ``fit.terms`` names the terms, each with its probability and with
# the residual on motion that was left out of the fit, without and with the term.

fit = dd.identify(robot, logs, validation=held_out)
print(fit.terms)

# %%
# The probability of a term is its share in the evidence of all sets of terms that remain. Rivals
# are other sets that the log does not rule out; look at them before you trust a name. What they
# leave open is in the intervals: these are the hull over all sets that remain.

for titles, share in fit.terms.rivals[:3]:
    print(f"{share:.3f}", ", ".join(titles))
for name in ("M_P", "mu1", "Fc1"):
    low, high = fit.interval()[fit.names.index(name)]
    print(f"{name}: {fit[name]:.4g}, 95 % from {low:.4g} to {high:.4g}")

# %%
# Terms of the machine are fields of ``fit.robot`` and go to files, simulation and exports with it.

print("lost in the gears:", np.round(fit.robot.friction.load, 4))
print("Stribeck friction:", np.round(fit.robot.friction.stribeck, 3), "N m")

# %%
# ``terms="file"`` keeps to the robot file. It is the model for a controller that has no other
# terms. Its parameters take up what is missing, and its intervals do not know of it: part of the
# gear's loss is called Coulomb friction here.

plain = dd.identify(robot, logs, terms="file")
for name in ("Fc1", "Fc2", "Fc3"):
    print(f"{name}: {plain[name]:.3f} by the file, {fit[name]:.3f} with terms, in N m")

# %%
# Names in a tuple force these terms and no others. Here ripple is kept out, and the fit says that
# a term is missing: the residual follows the motion. Intervals are widened for it.

forced = dd.identify(robot, logs, terms=("load", "limbs"))
print(str(forced.terms).splitlines()[-1])
low, high = forced.interval()[forced.names.index("M_P")]
print(f"M_P: {forced['M_P']:.4g}, 95 % from {low:.4g} to {high:.4g} kg")

# %%
# On the held-out motion. The peaks that are left at 1.0 and 1.6 s are stops: an axis that sticks
# can take any torque below its friction.

fits = {'terms="file"': plain, "forced, one missing": forced, "as found": fit}
figure, axes = plt.subplots(figsize=(7.2, 3.6))
for (name, one), color in zip(fits.items(), ("tab:orange", "tab:gray", "tab:blue"), strict=True):
    val = dd.validate(one, held_out, band=30.0)
    shown = (val.t > 0.5) & (val.t < 2.0)
    axes.plot(val.t[shown], val.residual[shown, 0], color=color, lw=1.2, label=name)
axes.set(xlabel="time (s)", ylabel="residual (N m)", title="Drive 1 on held-out motion")
axes.legend(ncols=3, fontsize="small")
plt.show()
