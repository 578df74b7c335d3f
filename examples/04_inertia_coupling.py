"""How strongly the drives feel each other's inertia over the workspace, as numbers and as a map."""

import sys
from pathlib import Path
from tempfile import mkdtemp

import deltadyn as dd
from deltadyn.report.coupling_page import coupling_page

robot = dd.load_robot("sipro-d3-1200")
found = dd.dynamics.coupling_map(robot)
print(found.summary)

folder = sys.argv[1] if len(sys.argv) > 1 else mkdtemp()
print("map:", coupling_page(robot, found, Path(folder) / "coupling.html"))
