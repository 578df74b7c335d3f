"""A robot as bodies, joints, loops and shapes, for the formats of simulators."""
