"""`python -m deltadyn` is the command line."""

from deltadyn.cli import main

main()
