"""Every parser of deltadyn under damaged inputs: `python -m tests.parsers --help`."""
