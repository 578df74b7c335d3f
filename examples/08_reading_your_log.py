"""
Reading your log
================

Map the columns of a log, check it, and repair it on request.
"""

# %%
# A log of a PLC with German names, milliseconds, degrees and three faults: a wrong sign, a lost
# turn of an encoder, a repeated time.

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.recording import check_recording, differentiate, read_recording, repair

robot = dd.load_robot("sipro-d3-1200")
run = dd.simulate(robot, dd.motion.y2(robot), dd.PDFeedforward(robot), preset="lab", seed=1)
rec = run.recording

q, tau, t = np.degrees(rec.q), rec.tau.copy(), 1e3 * rec.t
tau[:, 1] *= -1  # drive 2 counts the other way
q[2400:, 0] += 360.0  # encoder 1 lost a turn
t[500] = t[499]  # the scope stamped two rows alike
path = Path(mkdtemp()) / "scope.csv"
head = "Zeit;Geber A;Geber B;Geber C;M A;M B;M C"
rows = [";".join(f"{x:.6g}".replace(".", ",") for x in row) for row in np.c_[t, q, tau]]
path.write_text("\n".join([head, *rows]))

# %%
# Separator and decimal comma are detected. The names are not, and the error says what is missing.

try:
    read_recording(path, robot)
except dd.DeltadynError as error:
    print("error:", str(error).replace(str(path.parent), "..."))

# %%
# A column map says what the columns are. In a project it is the file ``columns.yaml``.

columns = {"Zeit": "t_ms"}
for axis, name in enumerate("ABC", start=1):
    columns[f"Geber {name}"] = f"q{axis}_deg"
    columns[f"M {name}"] = f"tau{axis}_Nm"
log = read_recording(path, robot, columns=columns)
print(log.summary().replace(str(path.parent), "..."))

# %%
# The checks say what is wrong, where, and what to do. A repeated time and a lost turn can be
# repaired on request; the provenance records it.

findings = check_recording(log, robot)
print(findings)
repaired = repair(log, findings, kinds=["duplicate time", "gap", "encoder wrap"])
for line in repaired.provenance.repairs:
    print("repaired:", line)

figure, axes = plt.subplots(figsize=(7.2, 3.2))
axes.plot(log.t, np.degrees(log.q[:, 0]), color="tab:red", lw=1.2, label="as logged")
axes.plot(repaired.t, np.degrees(repaired.q[:, 0]), color="tab:blue", lw=1.6, label="repaired")
axes.set(xlabel="time (s)", ylabel="angle of arm 1 (degrees)", title="A lost turn, and its repair")
axes.legend()
plt.show()

# %%
# With repaired angles the checks also compare measured and modelled torque and find the wrong
# sign. Correct it in the column map or in the ``controller`` section of the robot file.

print(check_recording(repaired, robot))

columns["M B"] = {"quantity": "tau", "axis": 2, "unit": "Nm", "sign": -1}
log = read_recording(path, robot, columns=columns)
repaired = repair(log, check_recording(log, robot), ["duplicate time", "gap", "encoder wrap"])
print("usable:", check_recording(repaired, robot).ok)

# %%
# ``identify`` estimates rates from the angles, with a bandwidth found from the data. Central
# differences amplify the noise with every derivative:

smooth = differentiate(repaired, method="kalman")
plain = differentiate(repaired, method="central")
print("bandwidth found:", np.round(smooth.bandwidth, 1), "Hz")

part = slice(600, 1100)
figure, axes = plt.subplots(figsize=(7.2, 3.2))
axes.plot(plain.t[part], plain.xdd[part, 0], color="silver", lw=0.9, label="central differences")
axes.plot(smooth.t[part], smooth.xdd[part, 0], color="tab:blue", lw=1.6, label="smoother")
axes.set(xlabel="time (s)", ylabel="rad/s²", title="Acceleration of arm 1")
axes.legend(loc="lower center")
plt.show()
