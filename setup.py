"""The optional extension: without a compiler the package installs and runs on NumPy alone."""

from glob import glob

from setuptools import Extension, setup

BACKENDS = "src/deltadyn/backends"

setup(
    ext_modules=[
        Extension(
            "deltadyn.backends._kernels",
            sources=sorted(glob(f"{BACKENDS}/source/*.c")),
            depends=sorted(glob(f"{BACKENDS}/*/*.h")),
            # Vectors need square roots without errno. No -ffast-math: NaN marks what does not
            # exist. No contraction: every processor gives the same bits, but for tanh and exp.
            extra_compile_args=[
                "-std=gnu99",
                "-O3",
                "-g0",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-ffp-contract=off",
            ],
            libraries=["m"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
