"""Runs the command line as :obj:`python -m tgx_anchor`."""

from tgx_anchor.cli import main

main()
