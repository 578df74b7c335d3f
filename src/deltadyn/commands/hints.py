"""What to do next after an error, in one line."""

from __future__ import annotations

import difflib

from deltadyn.errors import UnknownNameError

#: By the name of the error's class: the command line loads none of the folders that define them.
BY_KIND = {
    "RobotFileError": "`deltadyn robots sipro-d3-1200` prints a whole file to compare with",
    "RobotError": "docs/robot-file.md says what every field means",
    "RecordingFileError": "name the columns in a file and pass it with --columns; see "
    "docs/recordings.md",
    "MissingExtraError": "",
    "NoCheckoutError": "",
    "OtherPackageError": "",
    "UnidentifiableError": "--hold keeps what the logs cannot tell, and `deltadyn excite` designs "
    "a motion that tells it",
    "UnreachableError": "`deltadyn robots ROBOT` shows the limits of the workspace",
    "LimitError": "slow the motion down, or give the limits in the robot file",
    "PlantStoppedError": "try a higher --rate, or the preset ideal",
    "FileNotFoundError": "paths are relative to the folder in which the command runs",
    "PermissionError": "choose another folder with --out",
}


def hint(error: BaseException, command: str) -> str:
    """A line that helps on; empty where the error says it all."""
    if isinstance(error, UnknownNameError) and isinstance(error.value, str):
        near = difflib.get_close_matches(error.value, error.names, n=1)
        if near and "did you mean" not in str(error):
            return f"did you mean {near[0]!r}?"
        if error.quantity == "robot":
            return "`deltadyn robots` lists the catalogue"
    if "pass check=False" in str(error):
        return "--no-check takes the log as it is"
    if "does not exist" in str(error):
        return BY_KIND["FileNotFoundError"]
    for kind in type(error).__mro__:
        if kind.__name__ in BY_KIND:
            return BY_KIND[kind.__name__]
    return f"`{command} --help` shows an example"
