"""The package on Windows: its C by other compilers, and a Python of Windows under wine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.deploy.programs import program
from tests.deploy.wine import SOURCES, WindowsPython, do, headers, windows_python

import deltadyn as dd

NUMERIC = ("_actuations", "_float", "_platforms")  # they know nothing of Python
TOLERANCE = 1e-11  # of the largest torque, as between kernels and NumPy on one machine

SCRIPT = """
import json, os, subprocess, sys, threading
from pathlib import Path
import numpy as np
import deltadyn as dd
from deltadyn.backends import loader
from deltadyn.cli import main
from deltadyn.files import file_set, locked, remove_abandoned_mark, write_whole

found = {"system": [os.name, sys.platform], "kernels": loader.status()}
worst, torques = 0.0, {}
for name in dd.robot_names():
    robot = dd.load_robot(name)
    motion = dd.motion.adept_cycle(robot, cycles_per_minute=30)
    tau = dd.inverse_dynamics(robot, motion)
    with loader.switched_off():
        same = dd.inverse_dynamics(robot, motion)
    worst = max(worst, float(np.abs(tau - same).max() / np.abs(same).max()))
    torques[name] = tau[:: len(tau) // 7].tolist()
found |= {"worst": worst, "torques": torques}

holding = ("import time; from pathlib import Path; from deltadyn.files import liveness_mark\\n"
           "with liveness_mark(Path('mark')): print('held', flush=True); time.sleep(600)")
child = subprocess.Popen([sys.executable, "-c", holding], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
found["lives"] = [not remove_abandoned_mark(Path("mark"))]
child.kill()
child.wait()
found["lives"] += [not remove_abandoned_mark(Path("mark")), Path("mark").exists()]

with locked(Path(".")):
    try:
        with locked(Path("."), 0.2):
            found["lock"] = "taken twice"
    except TimeoutError as error:
        found["lock"] = str(error)
Path("page.html").write_text("old")
reader = open("page.html")
threading.Timer(0.5, reader.close).start()
write_whole("page.html", "new")
found["page"] = Path("page.html").read_text()
write_whole("NUL", "nothing")
try:
    write_whole("aux.html", "page")
except ValueError as error:
    found["aux"] = str(error)
with file_set():
    write_whole("deep/a.txt", "1")
    write_whole("b.txt", "2")
found["files"] = sorted(path.as_posix() for path in Path(".").rglob("*") if path.is_file())

def call(*words):
    try:
        main(words, prog_name="deltadyn")
    except SystemExit as end:
        found.setdefault("calls", []).append([words[0], end.code])

call("--version", "--verbose")
call("simulate", "example-delta", "--preset", "lab", "--out", "C:\\\\log.csv")
call("identify", "example-delta", "C:\\\\log.csv", "--hold", "--terms", "file", "--no-check",
     "--out", "C:\\\\mine")
call("export", "C:\\\\mine.yaml", "c", "--out", "c")
call("history", "add", "C:\\\\mine.yaml", "C:\\\\log.csv", "--store", "c:/history.sqlite",
     "--serial", "1", "--time", "2026-05-03T02:00:00", "--zone", "Europe/Berlin")
found["exported"] = sorted(path.name for path in Path("c").iterdir())

from scipy.io import savemat
log = dd.read_recording("C:\\\\log.csv", robot=dd.load_robot("example-delta"))
columns = {f"q{i + 1}_rad": log.q[:, i] for i in range(3)}
columns |= {f"tau{i + 1}_Nm": log.tau[:, i] for i in range(3)}
savemat("log.mat", {"t_s": log.t, **columns})
again = dd.read_recording("log.mat", robot=dd.load_robot("example-delta"))
found["matlab"] = float(np.abs(again.q - log.q).max())
Path("found.json").write_text(json.dumps(found))
"""


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.c")), ids=lambda path: path.stem)
def test_the_sources_compile_with_mingw(source: Path, tmp_path: Path) -> None:
    """Without a warning; the numeric ones without Python's headers."""
    gcc = program("x86_64-w64-mingw32-gcc")
    include = [] if source.stem in NUMERIC else ["-I", headers(tmp_path / "include")]
    strict = ("-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    do(gcc, *strict, *include, source, cwd=tmp_path)


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.c")), ids=lambda path: path.stem)
def test_the_sources_are_c_of_microsofts_compiler(source: Path, tmp_path: Path) -> None:
    """By clang for that target: no word of gcc's is left. Microsoft's own headers are not here."""
    clang, _ = program("clang"), program("x86_64-w64-mingw32-gcc")
    own = tmp_path / "own"
    own.mkdir()
    # mingw's header has forms that this target does not take
    text = "void *malloc(size_t), *calloc(size_t, size_t); void free(void *);"
    (own / "stdlib.h").write_text(f"#pragma once\n#include <stddef.h>\n{text}\n", "utf-8")
    target = (
        *("--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions"),
        *("-fms-compatibility-version=19.29", "-std=c11", "-Wall", "-Werror", "-fsyntax-only"),
    )
    places = (own, "/usr/x86_64-w64-mingw32/include", headers(tmp_path / "include"))
    include = [word for place in places for word in ("-isystem", place)]
    do(clang, *target, *include, source, cwd=tmp_path)


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> WindowsPython:
    return windows_python(tmp_path_factory.mktemp("windows"))


def test_a_python_of_windows_runs_the_core_path(windows: WindowsPython, tmp_path: Path) -> None:
    """Kernels, locks, names, renames, commands on drives, a log read apart, under wine."""
    told = windows.run(SCRIPT, tmp_path)
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert found["system"] == ["nt", "win32"]
    assert found["kernels"] == "compiled"
    assert found["worst"] < TOLERANCE
    for name, rows in found["torques"].items():
        robot = dd.load_robot(name)
        tau = dd.inverse_dynamics(robot, dd.motion.adept_cycle(robot, cycles_per_minute=30))
        here = tau[:: len(tau) // 7]
        assert np.abs(np.array(rows) - here).max() < TOLERANCE * np.abs(tau).max(), name
    assert found["lives"] == [True, False, False]
    assert "another process writes there" in found["lock"]
    assert found["page"] == "new"
    assert "another name" in found["aux"]
    assert found["files"] == ["b.txt", "deep/a.txt", "page.html"]
    assert [call[0] for call in found["calls"]] == [
        *("--version", "simulate", "identify", "export", "history")
    ]
    assert {call[1] for call in found["calls"]} == {0}, told[-3000:]
    assert "kernels: compiled" in told
    assert any(name.endswith(".c") for name in found["exported"])
    assert found["matlab"] < 1e-12
