"""What all tests share: the hypothesis profile, the shared data, the browser."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

# Reproducible: the same cases in every run. No deadline: the time of a case depends on the machine.
settings.register_profile(
    "deltadyn",
    deadline=None,
    derandomize=True,
    max_examples=int(os.environ.get("DELTADYN_HYPOTHESIS_EXAMPLES", "50")),
)
settings.load_profile("deltadyn")

# Tests compile much with XLA and run it once: no optimisation, a quarter less time.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data beside the repository; skips the test where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(
            "reference data absent: there is no folder ../shared/data beside the repository"
        )
    return SHARED_DATA


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the system's Chromium; skips the test where there is none."""
    for name in CHROMIUM_NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip(f"no browser found: none of {', '.join(CHROMIUM_NAMES)} is installed")
