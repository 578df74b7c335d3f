"""The drive of the test bench: reference, sensors, friction and gears."""
