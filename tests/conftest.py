"""What all tests share: the hypothesis profile, the shared data, the browser."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from tests.selection import packages_beyond

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


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full` runs what `make test-all` adds."""
    parser.addoption(
        "--full",
        action="store_true",
        help="run all tests: `make test-all` (see tests/selection.py)",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that need more than the small environment, unless all tests are asked for."""
    if config.getoption("--full") or collection_path.suffix != ".py":
        return None
    return True if packages_beyond(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked `full`, unless all tests are asked for."""
    if config.getoption("--full"):
        return
    left_out = [item for item in items if any(item.iter_markers("full"))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not any(item.iter_markers("full"))]


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
