"""The compiled plant, where the extension is in use."""

from __future__ import annotations

from typing import Any

from deltadyn.kernels import loader


def plant_module() -> Any | None:
    """The extension with `plant_tick`, `plant_follow`, `plant_rollout`; None: take NumPy's path."""
    module = loader._loaded.module
    return module if hasattr(module, "plant_follow") else None
