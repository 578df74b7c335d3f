"""The studio: a page in the browser, served from this machine to this machine only.

Everything that thinks (`drawing`, `motions`, `editing`, `logs`, `session`) knows nothing of the
page; `server`, `page` and the tabs are a thin layer on viser, which the extra `deltadyn[studio]`
installs.
"""

from deltadyn.studio.session import Session, Upload

__all__ = ["Session", "Upload"]
