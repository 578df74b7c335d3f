"""From an excitation motion to a fitted robot, judged on a motion that the fit has not seen."""

import sys
from pathlib import Path
from tempfile import mkdtemp

import deltadyn as dd
from deltadyn.validation import compare

robot = dd.load_robot("sipro-d3-1200")  # what the data sheet says: no rotors, no friction
exc = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=5, starts=1)


def record(motion: dd.Motion, seed: int) -> dd.Recording:
    """The log of an industrial machine: elastic gears, ripple, unequal arms, noise."""
    drive = dd.PDFeedforward(robot)
    run = dd.simulate(robot, motion, controller=drive, preset="industrial", seed=seed)
    return run.recording


training = record(exc.motion, seed=1)
held_out = record(dd.motion.y1(robot), seed=2)

fit = dd.identify(robot, training, tied="auto", validation=held_out)
print(fit.table)
print(fit.status, fit.uncertainty.status, fit.limbs, sep="\n")

print("\non the held-out motion:")
print(dd.validate(fit, held_out))
print()
print(compare({"data sheet": robot, "identified": fit}, held_out).verdict)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else mkdtemp())
robot_file, fit_file = fit.save(folder / "identified")  # the robot, and JSON with provenance
print("\nrobot: ", robot_file)
print("fit:   ", fit_file)
print("report:", fit.report(folder / "identified.html"))
