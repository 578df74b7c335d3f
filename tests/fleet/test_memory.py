"""Memory of a run over a long log does not grow with its length."""

import subprocess
import sys

import pytest
from benchmarks.fleet import RATE, SimulatedLog, motion, nominal

#: A log of some pieces and one that is 1.6 million samples longer, in one process; the peak after
#: each, in MiB.
SCRIPT = """
from benchmarks.fleet import logs_of, nominal
from benchmarks.machine import peak_memory
from deltadyn.fleet import identify_fleet
for samples in (2_400_000, 4_000_000):
    found = identify_fleet(nominal(), logs_of(1, samples, True), band=40.0, chunk=800_000)
    assert found.fits[0].samples == samples
    print(peak_memory() // 2**20)
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_log() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    short, long = map(int, done.stdout.split())
    assert short < 1024
    # the 1.6 million samples more take 166 MiB (t, q, qd, qdd, tau); blocks and pieces vary
    assert long - short < 60


def test_simulated_logs_are_periodic_and_seeded() -> None:
    """The benchmark's samples: the end of a period goes on at its start."""
    one = motion()
    step = one.q[1] - one.q[0]
    assert abs((one.q[0] - one.q[-1]) - step).max() < 1e-5  # rad, of steps of 1e-3
    log = SimulatedLog("D3", 1000, seed=3)
    (first,), (again,) = list(log.pieces()), list(log.pieces())
    assert (first.tau == again.tau).all()
    assert first.sample_time == pytest.approx(1 / RATE, rel=1e-9)
    assert nominal().dof == first.dof
