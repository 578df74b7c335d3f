"""How long a test waits for a condition before it fails: far longer than a busy machine needs."""

from __future__ import annotations

PATIENCE = 120.0  # s
BROWSER_WAIT = 1000 * PATIENCE  # ms, as playwright counts; software rendering takes its time
