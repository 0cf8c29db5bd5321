"""Stands in for atroposlib/cli/run_api.py in a copy of the original, so that its tests start another service.

ATROPOS_SERVICE is its command as a JSON list; the arguments given here (`--host`, `--port`) are added to it.
"""

import json
import os
import sys

command = json.loads(os.environ["ATROPOS_SERVICE"])
os.execv(command[0], [*command, *sys.argv[1:]])
