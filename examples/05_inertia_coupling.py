"""
How strongly the drives feel each other
=======================================

Moving one arm of a Delta robot moves the platform, and with it the others. Over the workspace this
coupling changes, and with it how well controllers for single axes can work.
"""

# %%
# ``felt`` is the inertia at a drive while the others hold still, ``free`` that while they let go.

import matplotlib.pyplot as plt

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200")
found = dd.dynamics.coupling_map(robot)
print(found.summary)

# %%
# The maps are at the middle height of the working cylinder. ``coupling`` is
# \|M12\| / sqrt(M11 M22): 0 where two drives do not feel each other. It vanishes towards one
# side of the workspace and is strongest at the other, where both drives move one mass.

figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.8), sharey=True, layout="constrained")
pictures = (
    (found.coupling[0], "coupling of drives 1 and 2", "", "magma"),
    (found.felt[0], "inertia that drive 1 feels", "kg m²", "viridis"),
)
for place, (values, title, unit, colors) in zip(axes, pictures, strict=True):
    shades = place.contourf(found.x, found.y, values, levels=24, cmap=colors)
    place.set(xlabel="x (m)", title=title, aspect="equal")
    place.grid(False)
    figure.colorbar(shades, label=unit, shrink=0.85)
axes[0].set_ylabel("y (m)")
plt.show()
