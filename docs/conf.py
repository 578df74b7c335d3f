"""How the documentation is built: `make docs`, or `sphinx-build -W docs docs/_build/html`."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "deltadyn"
author = "The deltadyn authors"
copyright = "the deltadyn authors, Apache-2.0"
release = version = installed_version("deltadyn")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "offline_math",
    "command_line",
    "plain_docstrings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_extensions"]
nitpicky = False
html_theme = "furo"
html_title = f"deltadyn {release}"
html_static_path = ["_static"]
html_css_files = ["deltadyn.css"]
html_show_sphinx = False

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in ("FloatArray", "BoolArray", "IntArray")}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"__init__\.py",
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 1e9,  # times of the machine that built the pages say nothing
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "remove_config_comments": True,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}
