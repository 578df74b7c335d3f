"""Checks of a recording: time, signals, the robot, homing."""
