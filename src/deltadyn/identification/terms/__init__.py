"""What real machines have beside the robot's own model: candidates, their choice, intervals."""
