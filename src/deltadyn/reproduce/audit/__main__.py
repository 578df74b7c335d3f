"""`python -m deltadyn.reproduce.audit [FILE]` writes the page of the audit, or prints it."""

from __future__ import annotations

import sys
from pathlib import Path

from deltadyn.reproduce.audit import audit_page


def main(arguments: list[str]) -> int:
    """Exit status 0, or 2 where the call is wrong."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python -m deltadyn.reproduce.audit [FILE]", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    page = audit_page()
    if arguments:
        Path(arguments[0]).write_text(page, "utf-8")
    else:
        sys.stdout.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
