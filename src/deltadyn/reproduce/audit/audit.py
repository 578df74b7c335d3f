"""The audit of the five papers: as printed, with signs mended, exact."""

from __future__ import annotations

from functools import cache

from deltadyn.reproduce.audit.falezza import simplified_items, simplified_variants
from deltadyn.reproduce.audit.falezza_complete import complete_items, complete_variants
from deltadyn.reproduce.audit.gnad2024 import audit_gnad2024
from deltadyn.reproduce.audit.kim2022 import audit_kim2022
from deltadyn.reproduce.audit.records import Audit, PaperAudit
from deltadyn.reproduce.audit.scene import stage
from deltadyn.reproduce.audit.telescopic2022 import audit_telescopic2022


def audit_falezza() -> PaperAudit:
    """The audit of [falezza2020] and [falezza2022] on the SIPRO D3-1200."""
    scenery = stage("falezza2020, falezza2022", "sipro-d3-1200")
    variants = simplified_variants(scenery) + complete_variants(scenery)
    items = (*simplified_items(scenery), *complete_items(scenery))
    return PaperAudit(scenery.scene, variants, items)


@cache
def audit() -> Audit:
    """Every slip of the five papers with what it costs; the same value in every call."""
    return Audit((audit_kim2022(), audit_falezza(), audit_telescopic2022(), audit_gnad2024()))
