"""
Inertia coupling of the drives
==============================

The drives of a Delta robot are coupled through the platform. The coupling changes over the
workspace, and with it the quality of single-axis controllers.
"""

# %%
# ``felt`` is the inertia at a drive while the others are held, ``free`` that while they are free.

import matplotlib.pyplot as plt

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200")
found = dd.dynamics.coupling_map(robot)
print(found.summary)

# %%
# The maps are at the middle height of the working cylinder. ``coupling`` is
# \|M12\| / sqrt(M11 M22): 0 for decoupled drives. It vanishes towards one side of the workspace
# and is largest at the other, where both drives move the same mass.

figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.8), sharey=True, layout="constrained")
pictures = (
    (found.coupling[0], "coupling of drives 1 and 2", "", "magma"),
    (found.felt[0], "inertia at drive 1, others held", "kg m²", "viridis"),
)
for place, (values, title, unit, colors) in zip(axes, pictures, strict=True):
    shades = place.contourf(found.x, found.y, values, levels=24, cmap=colors)
    place.set(xlabel="x (m)", title=title, aspect="equal")
    place.grid(False)
    figure.colorbar(shades, label=unit, shrink=0.85)
axes[0].set_ylabel("y (m)")
plt.show()
