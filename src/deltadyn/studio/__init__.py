"""The studio: a page in the browser, served from this machine to this machine only.

A tab has its file (`robot`, `pose`, `volumes`, `motion`, `log`, `project`): first what it knows and
computes, without the page, then the tab itself, a thin layer on viser, which the extra
`deltadyn[studio]` installs. `session` holds what one window has before it, `server` and `page` what
it shows; `columns` is the table of a log's columns, `plots` curves over time, `forms` controls that
viser does not have.
"""

from deltadyn.studio.session import Session, Upload

__all__ = ["Session", "Upload"]
