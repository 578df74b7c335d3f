"""Imperfect machines to identify: an independent plant in C and what is wrong with it, by name."""

from .machines import CAUSES, Machine, NoCompilerError, Run, Touch, compiler, make_machine

__all__ = ["CAUSES", "Machine", "NoCompilerError", "Run", "Touch", "compiler", "make_machine"]
