"""The audit: the papers' equations as printed, corrected and exact, and what each slip costs."""

from functools import cache

from deltadyn.doors import writer
from deltadyn.reproduce.audit.falezza import audit_falezza
from deltadyn.reproduce.audit.gnad2024 import audit_gnad2024
from deltadyn.reproduce.audit.kim2022 import audit_kim2022
from deltadyn.reproduce.audit.operations import operation_counts
from deltadyn.reproduce.audit.records import Audit
from deltadyn.reproduce.audit.telescopic2022 import audit_telescopic2022

__all__ = ["Audit", "audit", "audit_page", "operation_counts"]


@cache
def audit() -> Audit:
    """Every slip of the five papers with what it costs; the same value in every call."""
    return Audit((audit_kim2022(), audit_falezza(), audit_telescopic2022(), audit_gnad2024()))


def audit_page() -> str:
    """The page of the documentation with the audit, the ladder and the counts, as Markdown."""
    return str(writer("audit text")(audit()))
