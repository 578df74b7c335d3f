"""The optional extension: without a compiler the package installs and runs on NumPy alone."""

import os
from concurrent.futures import ThreadPoolExecutor
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

BACKENDS = "src/deltadyn/backends"
# Vectors need square roots without errno. No -ffast-math: NaN marks what does not exist. No
# contraction: every processor gives the same bits, but for tanh and exp.
FLAGS = ("-std=gnu99", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
# Kernels of the other kinds were measured as fast without -O3's further passes. Those that give no
# torque have code for two generations of processors and not for three.
QUICK = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-DDELTADYN_FEW_CLONES=1")
LONGEST_FIRST = ("_simulation", "_platforms", "_actuations", "_kernels", "_float")


class BuildTogether(build_ext):
    """The sources of the extension, each by a process of its own, as many as there are cores."""

    def build_extension(self, ext: Extension) -> None:
        compile_all = self.compiler.compile

        def compile_together(sources, **options):
            def compile_one(source):
                name = os.path.splitext(os.path.basename(source))[0]
                own = ("-O3",) if name in ("_kernels", "_simulation") else QUICK
                extra = [*options["extra_postargs"], *own]
                return compile_all([source], **{**options, "extra_postargs": extra})

            ordered = sorted(sources, key=lambda path: _place(path))
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                found = dict(zip(ordered, pool.map(compile_one, ordered), strict=True))
            return [made for source in sources for made in found[source]]

        self.compiler.compile = compile_together
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_all


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
            extra_compile_args=list(FLAGS),
            libraries=["m"],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildTogether},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
