"""Python's MCPToolClient on a server of ours with tools: `python openenv_mcp.py URL`.

Prints JSON: the tools, what one of them answered, the steps and the end of the episode, what a second client is told
where there is one session, and what `openenv validate --url` says of the server.
"""

import json
import subprocess
import sys

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.env_server.types import Action
from openenv.core.mcp_client import MCPToolClient

URL = sys.argv[1]


class Say(Action):
    message: str


def refused(act) -> str:
    try:
        act()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it was taken")


with MCPToolClient(base_url=URL).sync() as env:
    prompt = env.reset(seed=1).observation.prompt
    tools = [tool.name for tool in env.list_tools()]
    answer = env.call_tool("list_shelves")
    wrong = env.step(CallToolAction(tool_name="none", arguments={})).observation.error.message
    steps = env.state().step_count
    full = refused(lambda: MCPToolClient(base_url=URL).sync().connect())
    end = env.step(Say(message="<answer>nothing</answer>"))
# Its place is free again.
with MCPToolClient(base_url=URL).sync() as env:
    again = env.reset(seed=1).observation.prompt

command = [sys.executable, "-m", "openenv.cli", "validate", "--url", URL, "--json"]
validation = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
print(
    json.dumps(
        {
            "prompts": [prompt, again],
            "tools": tools,
            "answer": answer,
            "wrong": wrong,
            "steps": steps,
            "full": full,
            "end": [end.reward, end.done],
            "passed": validation["passed"],
            "mode": validation["mode"],
            "failed": [one["id"] for one in validation["criteria"] if not one["passed"]],
        }
    )
)
