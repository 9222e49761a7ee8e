"""`python -m curtsy` is `curtsy`."""

from curtsy.cli import main

main()
