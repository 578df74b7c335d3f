"""The audit: the papers' equations as printed, mended and exact, and what each slip costs."""

from deltadyn.reproduce.audit.audit import audit
from deltadyn.reproduce.audit.operations import Count, Operations, operation_counts
from deltadyn.reproduce.audit.page import audit_page
from deltadyn.reproduce.audit.records import (
    Audit,
    AuditItem,
    Cost,
    Figure,
    ModelVariant,
    PaperAudit,
    Scene,
)

__all__ = [
    "Audit",
    "AuditItem",
    "Cost",
    "Count",
    "Figure",
    "ModelVariant",
    "Operations",
    "PaperAudit",
    "Scene",
    "audit",
    "audit_page",
    "operation_counts",
]
