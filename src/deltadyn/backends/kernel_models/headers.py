"""The C of all kernels, as the headers that the extension includes.

Run: python -m deltadyn.backends.kernel_models.headers FOLDER, or with --digest instead of a folder

The build of the extension does so (setup.py): no C that is written by a program is stored. Needs
nothing but NumPy and PyYAML.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deltadyn.backends.kernel_models.kernels import inner_models, kernels, traced, widths_of
from deltadyn.backends.kernel_models.motion import Model
from deltadyn.backends.kernel_models.plant import table_of_places
from deltadyn.backends.layout import COUNT, ENTRIES, KINEMATIC, PLACES
from deltadyn.backends.stale import PACKAGE, digest_of_texts
from deltadyn.tape.passes import in_depth
from deltadyn.tape.write_c import COLUMNS, c_function

#: The plant's numbers are those of many robots: a step stands between them, too.
MANY_ROBOTS = {"par": "step", **COLUMNS}


def headers() -> dict[str, str]:
    """Name and text of every header but `digest.h`."""
    parts, inner = kernels(), inner_models()
    files = {f"{name}.h": _functions(models) for name, models in parts.items()}
    files |= {f"{name}.h": _functions(models) for name, models in inner.items()}
    files["mechanism.h"] += "\n" + table_of_places()
    files["table.h"] = _table(parts)
    return files


def _functions(models: Iterable[Model]) -> str:
    return "\n".join(kernel_text(model) for model in models)


def kernel_text(model: Model) -> str:
    """The C function of one kernel: `par`, columns of x in, columns of y out."""
    strides = MANY_ROBOTS if model.many_robots else COLUMNS
    return c_function(in_depth(traced(model)), strides, comment=_comment(model))


def _comment(model: Model) -> str:
    """What the columns are."""
    text = ", ".join(name for name, _ in model.inputs)
    text += f"; cosines, sines of {model.angles[1]} angles" if model.angles[1] else ""
    text += "; cosine, sine of the bars" if model.bars else ""
    text += f"; directions, Stribeck shapes of {model.rates[1]} rates" if model.rates[1] else ""
    given = "tau, qd, qdd" if model.dof else ", ".join(name for name, _ in model.outputs)
    return f"x: {text}; y: {given}"


def _table(parts: Mapping[str, list[Model]]) -> str:
    """Places of the robot's numbers, and one X-macro row per kernel, a macro for every source."""
    models = [model for part in parts.values() for model in part]
    rows = [line for name, part in parts.items() for line in (*_macro(name, part), "")]
    return "\n".join(
        [
            "enum {",
            *(f"    PAR_{name.upper()} = {PLACES[name].start}," for name, _ in ENTRIES),
            f"    PAR_KINEMATIC_COUNT = {KINEMATIC},",
            f"    PAR_COUNT = {COUNT},",
            f"    MAX_ARRAYS = {max(len(k.inputs) + len(k.outputs) for k in models)},",
            f"    MAX_INPUTS = {max(sum(widths_of(k)) for k in models)},",
            f"    MAX_OUTPUTS = {max(map(_outputs, models))},",
            f"    ACTUATION_END = {len(models) - len(parts['platforms'])}",
            "};",
            "",
            "/* name, parameters, first and count of angles and of rates, dof of the torque,",
            " * whole rows, bars, widths of inputs and outputs */",
            *rows,
            "/* those that give the torques of a motion in one pass */",
            *_macro("torque", [model for model in models if model.dof and model.whole]),
            "",
        ]
    )


def _macro(part: str, models: list[Model]) -> list[str]:
    """An X-macro with one row per kernel."""
    rows = []
    for model in models:
        inputs, outputs = (
            ", ".join(str(number) for number in (len(groups), *(width for _, width in groups)))
            for groups in (model.inputs, model.outputs)
        )
        places = ", ".join(str(number) for number in (*model.angles, *model.rates))
        facts = f"{model.parameters}, {places}, {model.dof}, {int(model.whole)}, {model.bars}"
        rows.append(f"    X({model.name}, {facts}, ({inputs}), ({outputs}))")
    name = f"DELTADYN_{part.upper()}_KERNELS"
    return [f"#define {name}(X) \\", *(f"{row} \\" for row in rows[:-1]), rows[-1]]


def _outputs(model: Model) -> int:
    """Columns of results that a block needs."""
    return max(sum(width for _, width in model.outputs), 5 * model.dof)  # friction works behind tau


def digest_of(files: Mapping[str, str]) -> str:
    """What tells the headers apart from those of other formulas."""
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{files[name]}\0".encode())
    return whole.hexdigest()[:16]


def traced_headers() -> tuple[dict[str, str], list[str]]:
    """The headers, and the modules whose source decides what is in them: files of the package.

    These are the modules whose functions ran, and those that these import names from.
    """
    ran: set[str] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        files = headers()
    finally:
        sys.setprofile(None)
    used = {path for path in map(Path, ran) if path.is_relative_to(PACKAGE)}
    used |= {other for path in used for other in _imported(path)}
    return files, sorted(path.relative_to(PACKAGE).as_posix() for path in used)


def _imported(path: Path) -> list[Path]:
    """The modules of the package from which a module imports names."""
    names = [
        node.module.split(".")[1:]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deltadyn.")
        if node.module is not None
    ]
    files = (PACKAGE.joinpath(*parts).with_suffix(".py") for parts in names)
    return [file for file in files if file.is_file()]


def write_headers(folder: Path) -> str:
    """Write the headers into a folder, where they differ; gives their digest."""
    files, used = traced_headers()
    digest = digest_of(files)
    sources = "".join(f'\\\n    "{name}\\n" ' for name in used).rstrip()
    files["digest.h"] = (
        f'#define DELTADYN_DIGEST "{digest}"\n'
        f'#define DELTADYN_TEXTS "{digest_of_texts(used)}"\n'
        f"#define DELTADYN_SOURCES {sources}\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    return digest


def main() -> None:
    """Write the headers into the folder of the first argument, or print their digest."""
    (word,) = sys.argv[1:]
    print(digest_of(headers()) if word == "--digest" else write_headers(Path(word)))


if __name__ == "__main__":
    main()
