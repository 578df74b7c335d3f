"""Commands of the command line, by subject; `deltadyn.cli` gathers them."""
