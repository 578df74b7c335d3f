"""The optional extension: without a compiler the package installs and runs on NumPy alone."""

import os
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from tempfile import TemporaryDirectory

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

BACKENDS = "src/deltadyn/backends"
# Vectors need square roots without errno. No -ffast-math: NaN marks what does not exist. No
# contraction: every processor gives the same bits, but for tanh and exp.
FLAGS = ("-std=gnu99", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
# Kernels of the other kinds were measured as fast without -O3's further passes. Those that give no
# torque have code for two generations of processors and not for three.
QUICK = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-DDELTADYN_FEW_CLONES=1")
# The same for Microsoft's compiler: C11 has `restrict` and the standard's macros with any number of
# arguments; fp:precise contracts nothing without /arch. It has no library m.
MICROSOFT = ("/std:c11", "/Zc:preprocessor", "/utf-8", "/O2", "/fp:precise")
LONGEST_FIRST = ("_simulation", "_platforms", "_actuations", "_kernels", "_float")


def arguments_of(kind: str, name: str) -> tuple[str, ...]:
    """Arguments with which a compiler of that kind, "msvc" or another, compiles one source."""
    if kind == "msvc":
        return MICROSOFT
    return (*FLAGS, *(("-O3",) if name in ("_kernels", "_simulation") else QUICK))


def libraries_of(kind: str) -> list[str]:
    """Libraries that the extension is linked with."""
    return [] if kind == "msvc" else ["m"]


class BuildTogether(build_ext):
    """The sources of the extension, each by a process of its own, as many as there are cores."""

    def build_extension(self, ext: Extension) -> None:
        kind = self.compiler.compiler_type
        compile_all = self.compiler.compile
        unknown = set() if kind == "msvc" else self._unknown(QUICK)

        def compile_together(sources, **options):
            def compile_one(source):
                own = arguments_of(kind, os.path.splitext(os.path.basename(source))[0])
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
            depends=sorted(glob(f"{BACKENDS}/*/*.h")),
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildTogether},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
