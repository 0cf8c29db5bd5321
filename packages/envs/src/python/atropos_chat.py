"""verifiers' plain chat (its harness `null`) within this process, instead of a program for every run of a seat.

It is the package's own program, from its own text, in the bridge's event loop, so what is asked is the same. A program
of its own takes a second or two of a processor: uv is asked twice, and an interpreter loads the libraries of the
chat. What such a program could do beyond asking is not needed here: a seat with tools, with variables of its own, or
in another runtime is run as the package does.
"""

import contextvars
import functools
import os
import sys
import tempfile
import traceback
import types

# Of the run that a task belongs to: the clients that its program made.
opened = contextvars.ContextVar("clients of a run")


@functools.cache
def program():
    """The package's program as a module; what it opens is noted, since no process ends with it."""
    from verifiers.v1.harnesses.utils.launch import CHAT_PROGRAM_SOURCE

    module = types.ModuleType("atropos_chat_program")
    exec(compile(CHAT_PROGRAM_SOURCE, "verifiers' chat", "exec"), module.__dict__)

    class Noted(module.AsyncOpenAI):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            opened.get().append(self)

    module.AsyncOpenAI = Noted
    return module


class Here:
    """A runtime whose main program is run in this process; what it is given as files is in `folder`."""

    def __init__(self, runtime, folder):
        self.runtime, self.folder = runtime, folder

    def __getattr__(self, name):
        return getattr(self.runtime, name)

    async def prepare_uv_script(self, script, env=None, *, activate=True):
        return []

    def place(self, path):
        return os.path.join(self.folder, os.path.basename(path))

    async def write(self, path, data):
        with open(self.place(path), "wb") as file:
            file.write(data)

    async def run_program(self, argv, env):
        from verifiers.v1.runtimes import ProgramResult

        option = "--initial-messages-file="
        clients, code, said = [], 0, ""
        token = opened.set(clients)
        try:
            # It reads them before it waits for anything.
            sys.argv = ["chat", *(option + self.place(one[len(option) :]) if one.startswith(option) else one for one in argv)]
            await program().main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
            said = "".join(traceback.format_exception(error.__cause__ or error))
        except Exception:  # As it would end a program.
            code, said = 1, traceback.format_exc()
        finally:
            opened.reset(token)
            for client in clients:
                await client.close()
        return ProgramResult(code, "", said)


def within(harness):
    """Makes the plain chats of a harness run here; any other harness stays as it is."""
    from verifiers.v1.harnesses.null import NullHarness
    from verifiers.v1.runtimes.subprocess import SubprocessRuntime

    if type(harness) is not NullHarness or harness.config.resolved_env:
        return

    class Within(NullHarness):
        async def setup(self, runtime):
            if not isinstance(runtime, SubprocessRuntime):
                await super().setup(runtime)

        async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
            values = (endpoint, secret, mcp_urls, data, tool_interception_url)
            if mcp_urls or not isinstance(runtime, SubprocessRuntime):
                return await super().launch(ctx, trace, runtime, *values)
            with tempfile.TemporaryDirectory(prefix="atropos-chat-") as folder:
                return await super().launch(ctx, trace, Here(runtime, folder), *values)

    harness.__class__ = Within
