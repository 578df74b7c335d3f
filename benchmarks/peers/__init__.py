"""Ours beside MuJoCo and Pinocchio: what `deltadyn bench` and `python -m benchmarks.peers` run."""
