"""The optional extension: without a compiler the package installs and runs on NumPy alone.

Its C is traced from the package's formulas when it is built, by a process that needs NumPy and
PyYAML, and goes into the folder of the build.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from tempfile import TemporaryDirectory

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

BACKENDS = "src/deltadyn/backends"
TRACER = "deltadyn.backends.kernel_models.headers"
# Vectors need square roots without errno. No -ffast-math: NaN marks what does not exist. No
# contraction: every processor gives the same bits, but for tanh and exp.
FLAGS = ("-std=gnu99", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
# Kernels of the other kinds were measured as fast without -O3's further passes. Those that give no
# torque have code for two generations of processors and not for three.
QUICK = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-DDELTADYN_FEW_CLONES=1")
# The same for Microsoft's compiler: C11 has `restrict` and the standard's macros with any number of
# arguments; fp:precise contracts nothing without /arch. It has no library m.
MICROSOFT = ("/std:c11", "/Zc:preprocessor", "/utf-8", "/O2", "/fp:precise")
#: Instructions of the generations of x86-64 processors, by the names of /proc/cpuinfo.
LEVELS = {
    4: {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    3: {"avx2", "bmi1", "bmi2", "fma", "movbe"},
}
LONGEST_FIRST = ("_simulation", "_platforms", "_actuations", "_kernels", "_float")


def arguments_of(kind: str, name: str) -> tuple[str, ...]:
    """Arguments with which a compiler of that kind, "msvc" or another, compiles one source."""
    if kind == "msvc":
        return MICROSOFT
    return (*FLAGS, *(("-O3",) if name in ("_kernels", "_simulation") else QUICK))


def write_traced_headers(folder: str) -> str:
    """Write the C of the kernels into a folder; gives its digest.

    The process gets this one's path as it is: pip's own start-up of a build takes folders out of
    PYTHONPATH, such as the sources of an editable installation that is built again.
    """
    path = [os.path.abspath("src"), *sys.path]
    code = f"import sys; sys.path[:] = {path!r}; from {TRACER} import main; main()"
    environment = {**os.environ, "DELTADYN_KERNELS": "off"}
    command = [sys.executable, "-c", code, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:  # no CompileError, which an optional extension would hide
        raise RuntimeError(f"the formulas of the kernels cannot be traced:\n{done.stderr}")
    return done.stdout.strip()


def is_built(library: str, digest: str, sources: list[str]) -> bool:
    """Whether a library of the same formulas is there, newer than the C that is written by hand."""
    if not os.path.isfile(library):
        return False
    time = os.path.getmtime(library)
    with open(library, "rb") as file:
        known = digest.encode() in file.read()
    return known and all(os.path.getmtime(path) < time for path in sources)


def words_of_processor(facts: str) -> tuple[str, ...]:
    """Words that compile for this processor alone; none where its generation is not known.

    `facts` is the text of /proc/cpuinfo. They are for an installation that stays here: the
    extension then refuses to load where the instructions are not there.
    """
    flags = set(facts.partition("flags")[2].partition("\n")[0].split())
    for level, needed in LEVELS.items():
        if needed <= flags:
            return (f"-march=x86-64-v{level}", "-DCLONES=", f"-DDELTADYN_LEVEL={level}")
    return ()


def libraries_of(kind: str) -> list[str]:
    """Libraries that the extension is linked with."""
    return [] if kind == "msvc" else ["m"]


class BuildTogether(build_ext):
    """The sources of the extension, each by a process of its own, as many as there are cores."""

    def run(self) -> None:
        # setuptools builds aside also what stays in the sources, and copies it there
        self.stays = bool(self.inplace) or getattr(self, "editable_mode", False)
        self.libraries_there = [self.get_ext_fullpath(ext.name) for ext in self.extensions]
        super().run()

    def build_extension(self, ext: Extension) -> None:
        traced = os.path.abspath(os.path.join(self.build_temp, "kernels"))
        digest = write_traced_headers(os.path.join(traced, "traced"))
        there = [*self.libraries_there, self.get_ext_fullpath(ext.name)]
        written = [*ext.sources, *ext.depends]
        there = [path for k, path in enumerate(there) if k == 0 or os.path.isfile(path)]
        if not self.force and all(is_built(path, digest, written) for path in there):
            print(f"{there[0]} is of these formulas")
            return
        self.force = True  # the times of files do not tell what formulas a library is of
        ext.include_dirs = [traced, *ext.include_dirs]
        kind = self.compiler.compiler_type
        compile_all = self.compiler.compile
        here = self._words_of_processor(kind)
        unknown = set() if kind == "msvc" else self._unknown((*QUICK, *here))
        here = () if unknown & set(here) else here

        def compile_together(sources, **options):
            def compile_one(source):
                name = os.path.splitext(os.path.basename(source))[0]
                # the others have no loops over samples, and gcc 12 contracts complex products of
                # processors that can, whatever -ffp-contract says
                own = arguments_of(kind, name) + (here if name in LONGEST_FIRST else ())
                extra = [*options["extra_postargs"], *(word for word in own if word not in unknown)]
                return compile_all([source], **{**options, "extra_postargs": extra})

            ordered = sorted(sources, key=lambda path: _place(path))
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                found = dict(zip(ordered, pool.map(compile_one, ordered), strict=True))
            return [made for source in sources for made in found[source]]

        self.compiler.compile = compile_together
        ext.libraries = libraries_of(kind)
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_all

    def _words_of_processor(self, kind: str) -> tuple[str, ...]:
        """Where the package is used from its sources: a third of the machine code of a wheel."""
        if kind != "unix" or not self.stays or not os.path.isfile("/proc/cpuinfo"):
            return ()
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return words_of_processor(file.read())

    def _unknown(self, words: tuple[str, ...]) -> set[str]:
        """Those of the words that this compiler refuses: clang has no models of a vector's cost."""
        refused = set()
        with TemporaryDirectory() as folder:
            source = os.path.join(folder, "empty.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int deltadyn_empty;\n")
            for word in words:
                try:
                    self.compiler.compile([source], output_dir=folder, extra_postargs=[word])
                except CompileError:
                    refused.add(word)
        return refused


def _place(path: str) -> int:
    """Where a source comes among those that are compiled side by side."""
    name = os.path.splitext(os.path.basename(path))[0]
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


setup(
    ext_modules=[
        Extension(
            "deltadyn.backends._kernels",
            sources=sorted(glob(f"{BACKENDS}/source/*.c")),
            depends=["setup.py", *sorted(glob(f"{BACKENDS}/source/*.h"))],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildTogether},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
