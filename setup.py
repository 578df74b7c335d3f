"""The optional extension: without a compiler the package installs and runs on NumPy alone."""

from setuptools import Extension, setup

KERNELS = "src/deltadyn/kernels"

setup(
    ext_modules=[
        Extension(
            "deltadyn.kernels._kernels",
            sources=[f"{KERNELS}/_kernels.c"],
            depends=[
                f"{KERNELS}/angles.h",
                f"{KERNELS}/blocks.h",
                f"{KERNELS}/generated_columns_3.h",
                f"{KERNELS}/generated_columns_4.h",
                f"{KERNELS}/generated_kinematics.h",
                f"{KERNELS}/generated_mass.h",
                f"{KERNELS}/generated_table.h",
                f"{KERNELS}/generated_torque_3.h",
                f"{KERNELS}/generated_torque_4.h",
            ],
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
