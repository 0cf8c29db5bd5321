"""Environments of verifiers (its v1 interface): an episode of a task, with as many seats as the environment declares.

Every run of a seat asks an URL of ours of its own, and has an interception server of its own, so that nothing is kept
of it when it has ended (a shared one keeps a client for each URL it has seen). Rewards are the package's.
"""

import ast
import contextlib
import contextvars
import importlib.metadata
import importlib.util
import math
import os
import pathlib
import re
import sys

from atropos_chat import within
from atropos_errors import NotInstalled, Unknown, shortened
from atropos_rollouts import Urls

API_KEY = "ATROPOS_SESSION"

current = contextvars.ContextVar("the rollout that an episode belongs to")


def module_of(name):
    """A taskset's module by its id, as the package finds it: `owner/some-name@version` is `some_name`."""
    return name.rsplit("/", 1)[-1].split("@", 1)[0].replace("-", "_").lower()


def exports_taskset(origin):
    """Whether a module exports a taskset, from its text alone: importing all that is installed would take minutes."""
    path = pathlib.Path(origin or "")
    if path.suffix != ".py" or not path.is_file() or path.stat().st_size > 200_000:
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    if "Taskset" not in text:
        return False
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return False
    assigned = [one for one in statements if isinstance(one, ast.Assign) and isinstance(one.value, (ast.List, ast.Tuple))]
    return any(
        isinstance(target, ast.Name)
        and target.id == "__all__"
        and any(isinstance(one, ast.Constant) and str(one.value).endswith("Taskset") for one in statement.value.elts)
        for statement in assigned
        for target in statement.targets
    )


def is_older(origin):
    """Whether a module has an environment of the interface before v1, from its text alone."""
    path = pathlib.Path(origin or "")
    if path.suffix != ".py" or not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return "load_environment" in text and "Taskset" not in text


def require_v1():
    """Raises if the package is missing, or older than its v1 interface."""
    import verifiers

    if importlib.util.find_spec("verifiers.v1") is None:
        version = getattr(verifiers, "__version__", "of unknown version")
        raise NotInstalled("verifiers>=0.4", f"it has verifiers {version}, which lacks the v1 interface")


class Verifiers:
    """An environment by the id of its taskset, with its configuration as the package's own files have it."""

    package = "verifiers"
    shape = "rollout"

    @staticmethod
    def names():
        import pkgutil

        require_v1()
        from verifiers.v1 import tasksets

        own = {one.name for one in pkgutil.iter_modules(tasksets.__path__)}
        found = set()
        # Editable installs (as vf-init's) and folders of PYTHONPATH have modules that no distribution names.
        modules = {*importlib.metadata.packages_distributions(), *(one.name for one in pkgutil.iter_modules())}
        for name in modules - sys.stdlib_module_names:
            if name.isidentifier() and name != "verifiers":
                with contextlib.suppress(ImportError, ValueError, AttributeError):
                    spec = importlib.util.find_spec(name)
                    if spec is not None and exports_taskset(spec.origin):
                        found.add(name)
        return sorted(own | found)

    @staticmethod
    def missing(name):
        """None where it is there; else what is to be installed, as pip names it."""
        require_v1()
        module = module_of(name)
        if importlib.util.find_spec(f"verifiers.v1.tasksets.{module}"):
            return None
        spec = importlib.util.find_spec(module)
        if spec is not None:
            if is_older(spec.origin):
                raise Unknown(
                    f"{module} has load_environment, verifiers' interface before v1, and no Taskset: "
                    "it has to be ported to verifiers.v1, or run with verifiers itself"
                )
            return None
        return name.rsplit("/", 1)[-1].split("@", 1)[0].replace("_", "-").lower()

    def __init__(self, name, config):
        from verifiers.v1.configs.agent import AgentConfig
        from verifiers.v1.utils import loaders

        # The package keeps variables with this in their name from the programs it runs.
        os.environ[API_KEY] = "any"
        data = dict(config["config"])
        data["taskset"] = {**data.get("taskset", {}), "id": name}
        if config["environment"]:
            data["id"] = config["environment"]
        kind = loaders.env_config_type(name, data.get("id", ""))
        fallback = loaders.default_harness_id(name) == "bash"
        for seat, field in kind.model_fields.items():
            if isinstance(field.default, AgentConfig):
                chosen = dict(data.get(seat, {}))
                # Its own default is a sandbox of a provider that wants a key.
                if "runtime" not in chosen and "runtime" not in field.default.model_fields_set:
                    chosen["runtime"] = {"type": config["runtime"]}
                if "harness" not in chosen and field.default.harness is None and fallback:
                    chosen["harness"] = {"id": config["harness"]}
                data[seat] = chosen
        self.environment = loaders.load_environment(kind.model_validate(data))
        own = self.environment.setup

        async def setup(agents):
            await own(agents)
            urls = current.get()
            for seat in urls.seats:
                seated(getattr(agents, seat), seat, urls)

        self.environment.setup = setup
        configuration = self.environment.config
        self.seats = [
            seat
            for seat, field in type(configuration).model_fields.items()
            # A seat with a client of its own is another model's.
            if isinstance(field.default, AgentConfig) and getattr(configuration, seat).client is None
        ]
        taskset = self.environment.taskset
        self.infinite = bool(taskset.INFINITE)
        self.source, self.tasks = iter(taskset), []
        if not self.infinite:
            self.tasks = list(self.source)
        self.stack = contextlib.AsyncExitStack()

    async def start(self):
        await self.stack.enter_async_context(self.environment.serving())

    def info(self):
        return {"shape": self.shape, "count": None if self.infinite else len(self.tasks), "seats": self.seats}

    def task(self, index):
        while self.infinite and len(self.tasks) <= index:
            self.tasks.append(next(self.source))
        return self.tasks[index]

    async def rollout(self, index, seats, model):
        from verifiers.v1.clients import EvalClientConfig, ModelContext

        urls = Urls(seats)
        current.set(urls)
        (slot,) = self.environment.slots(self.task(index))
        # Every seat of ours has an URL of its own instead.
        nowhere = EvalClientConfig(base_url="http://127.0.0.1:9/v1", api_key_var=API_KEY)
        sessions = {}

        def minted(trace):
            sessions[trace.id] = urls.newest

        episode = await self.environment.run_slot(slot, ModelContext(model=model, client=nowhere), on_trace=minted)
        errors = [error_text(one) for one in [*episode.errors, *(e for t in episode.traces for e in t.errors)]]
        if urls.shortage is not None:
            errors.append(urls.shortage)
        traces = [trace_of(trace, sessions[trace.id]) for trace in episode.traces if trace.agent.name in seats]
        unusable = [fault for trace in traces for fault in faults(trace)]
        if episode.ok and unusable:
            return {"ok": False, "errors": [", ".join(unusable)], "traces": []}
        return {"ok": episode.ok, "errors": errors, "traces": traces if episode.ok else []}

    async def close(self):
        await self.stack.aclose()


def seated(agent, seat, urls):
    """Each run of an agent has a model of its own: the seat's next URL."""
    from verifiers.v1.clients import EvalClientConfig, ModelContext

    ctx = agent.ctx

    class Seated(type(agent)):
        @property
        def ctx(self):
            # Its trace is made at once, before anything else runs.
            client = EvalClientConfig(base_url=urls.take(seat), api_key_var=API_KEY)
            return ModelContext(model=ctx.model, client=client, sampling=ctx.sampling)

    within(agent.harness)
    del agent.ctx
    agent.interception = None
    agent.__class__ = Seated


# The line of a traceback that names an exception within a group.
member = re.compile(r"[ |]+([A-Z]\w*(?:Error|Exception): .*)")


def error_text(error):
    text = f"{error.type}: {error.message}"
    if "sub-exception" in text:
        found = [match[1] for match in map(member.fullmatch, (error.traceback or "").splitlines()) if match]
        text = "; ".join([text, *dict.fromkeys(found)])
    return shortened(text)


def trace_of(trace, session):
    return {
        "seat": trace.agent.name,
        "session": session,
        "trainable": bool(trace.agent.trainable),
        "reward": float(trace.reward),
        "rewards": {name: float(one.value) for name, one in trace.rewards.items() if one is not None},
        "metrics": {
            name: float(value) for name, value in trace.metrics.items() if value is not None and math.isfinite(value)
        },
    }


def faults(trace):
    """Describes the rewards of a trace that no score can be made of."""
    found = [f"the reward {name} is {value}" for name, value in trace["rewards"].items() if not math.isfinite(value)]
    if not found and not math.isfinite(trace["reward"]):
        found = [f"the sum of the rewards is {trace['reward']}"]
    return found
