"""Reproduction of the papers: the audit of their equations and the ladder of models."""

from deltadyn.reproduce.audit import Audit, audit, audit_page, operation_counts
from deltadyn.reproduce.ladder import Ladder, Rung, ladder, pick_and_place, random_states

__all__ = [
    "Audit",
    "Ladder",
    "Rung",
    "audit",
    "audit_page",
    "ladder",
    "operation_counts",
    "pick_and_place",
    "random_states",
]
