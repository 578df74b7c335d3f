"""Plants of the test bench: the ideal one, its compiled twin, MuJoCo."""
