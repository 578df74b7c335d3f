"""Pictures and reports that open offline."""

from deltadyn.report.comparison import FitComparison, compare_fits
from deltadyn.report.study import MethodResult, Study, study, study_of
from deltadyn.report.verdict import Verdict
from deltadyn.report.write import write_report

__all__ = [
    "FitComparison",
    "MethodResult",
    "Study",
    "Verdict",
    "compare_fits",
    "study",
    "study_of",
    "write_report",
]
