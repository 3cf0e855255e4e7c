"""A module of a game that is a script: importing it ends the process."""

import sys

sys.exit("this was meant to be run")
