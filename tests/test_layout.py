"""A module imports only from its own folder and from those above it in the list."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "deltadyn"
SOURCE = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# Folders and modules in the order of the user's path.
# "__init__" is the package itself: it stands below all whose public names it gathers, and only the
# command line may use it.
LAYERS = (
    "moved",
    "messages",
    "errors",
    "systems",
    "options",
    "doors",
    "files",
    "arrays",
    "tracing",
    "small",
    "tape",
    "progress",
    "units",
    "robot",
    "kinematics",
    "dynamics",
    "backends",
    "motion",
    "recording",
    "calibration",
    "simulation",
    "excitation",
    "identification",
    "validation",
    "sizing",
    "inspection",
    "streams",
    "payload",
    "force",
    "exports",
    "history",
    "fleet",
    "reproduce",
    "report",
    "studio",
    "demo",
    "__init__",
    "commands",
    "bench",
    "cli",
    "__main__",
)
PLACE = {name: place for place, name in enumerate(LAYERS)}
# The model runs on its backends, which are written with the model's own names: the one mutual use.
MUTUAL = {("kinematics", "backends"), ("dynamics", "backends")}


def imported_modules(tree: ast.Module, folder: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every import, also inside functions and TYPE_CHECKING blocks.

    `folder` holds the names of the packages around the module, against which relative imports
    count.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) + 1 - node.level] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            # `from deltadyn import kinematics` imports a layer, `from deltadyn import Robot` a name
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def layer_of(name: str) -> str | None:
    """The layer of a full dotted name; None where it is not of this package."""
    package, *rest = name.split(".")
    if package != PACKAGE:
        return None
    return rest[0] if rest and rest[0] in PLACE else "__init__"


def breaches(source: Path) -> list[str]:
    """One sentence per import from below and per module that has no place in the list."""
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] not in PLACE:
            found.append(f"{path.relative_to(source)}: {parts[0]} has no place in LAYERS")
            continue
        folder = (PACKAGE, *parts[:-1])
        for line, name in imported_modules(ast.parse(path.read_text("utf-8")), folder):
            layer = layer_of(name)
            below = layer is not None and PLACE[layer] > PLACE[parts[0]]
            if below and (parts[0], layer) not in MUTUAL:
                found.append(f"{path.relative_to(source)}:{line}: {parts[0]} imports {name}")
    return found


@pytest.mark.full
def test_modules_import_only_from_above() -> None:
    assert (SOURCE / "__init__.py").is_file()  # an empty tree would pass without a word
    assert breaches(SOURCE) == []


ALLOWED = {
    "__init__.py": "from deltadyn.motion import Motion\nfrom .dynamics.exact import torque",
    "robot.py": "import numpy as np\nfrom deltadyn.robot.write import save_robot",
    "robot/file.py": "from deltadyn.robot.robot import Robot",
    "kinematics/inverse.py": "from deltadyn.robot import Robot\nfrom .rates import rates",
    "dynamics/exact.py": "from deltadyn import kinematics\nfrom ..kinematics import inverse",
    "cli.py": "import deltadyn as dd",
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("kinematics/inverse.py", "from deltadyn.dynamics.exact import torque"),
        ("kinematics/inverse.py", "import deltadyn.dynamics.exact"),
        ("kinematics/inverse.py", "from deltadyn import dynamics"),
        ("kinematics/inverse.py", "from .. import dynamics"),
        ("kinematics/deep/inverse.py", "from ...dynamics.exact import torque"),
        ("kinematics/inverse.py", "def f():\n    from deltadyn.motion import Motion"),
        ("errors.py", "from .robot import Robot"),
        ("dynamics/exact.py", "from deltadyn import Motion"),
        ("dynamics/exact.py", "import deltadyn as dd"),
        ("__init__.py", "from deltadyn.cli import main"),
        ("helpers.py", "import math"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, path: str, text: str) -> None:
    for name, content in {**ALLOWED, path: text}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    (breach,) = breaches(tmp_path)
    assert breach.startswith(path)


def test_a_sound_tree_has_no_breach(tmp_path: Path) -> None:
    for name, content in ALLOWED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    assert breaches(tmp_path) == []


# Work space of a loop, which changes it.
CHANGED = {"_Flock"}


def thawed(folder: Path) -> set[str]:
    """Names of data classes below a folder whose fields can be set."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            for made in node.decorator_list:
                own = made.func if isinstance(made, ast.Call) else made
                said = ast.unparse(made).replace(" ", "")
                if ast.unparse(own).endswith("dataclass") and "frozen=True" not in said:
                    found.add(node.name)
    return found


@pytest.mark.full
@pytest.mark.parametrize("room", ["robot", "kinematics", "dynamics", "identification/methods"])
def test_data_of_the_mathematics_is_frozen(room: str) -> None:
    """Results are kept, shared and used as keys: nobody may change them behind another's back."""
    assert thawed(SOURCE / room) <= CHANGED
    assert (SOURCE / room).is_dir()


def test_a_data_class_that_can_be_changed_is_found(tmp_path: Path) -> None:
    text = "@dataclass(eq=False)\nclass A: ...\n@dataclass(frozen=True)\nclass B: ...\n"
    (tmp_path / "a.py").write_text(text + "@dataclass\nclass C: ...\nclass D: ...\n")
    assert thawed(tmp_path) == {"A", "C"}
