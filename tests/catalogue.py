"""Names of the catalogue by what its robots have, for tests that are about some of them."""

from deltadyn.robot.file import load_robot, robot_names

#: Robots with three limbs; `tests/family` and the tests named after kinds are about the others too.
THREE_LIMBS = tuple(name for name in robot_names() if load_robot(name).legs == 3)
