"""Evaluations of inspect_ai: the solver of a task asks an URL of ours for each rollout, and its scorers score.

A process runs one evaluation at a time, so rollouts that wait are evaluated together: each is a sample of its own. What
a scorer asks the model goes to another URL, which is not trained on.
"""

import asyncio
import contextlib
import contextvars
import copy
import functools
import importlib.metadata
import importlib.util
import inspect as signatures
import math
import os
import pathlib
import tempfile

from atropos_errors import Unknown, shortened
from atropos_rollouts import Urls

# Nothing is shown: nobody looks at this process. It is read when the package is first imported.
os.environ.setdefault("INSPECT_DISPLAY", "none")

SEATS = ["policy", "grader"]
# Rollouts of a group are asked for one after another.
GATHERING_SECONDS = 0.05
# Options of every evaluation that are taken by name alone.
GENERATION = {"max_retries", "max_connections"}

current = contextvars.ContextVar("the rollout that a sample belongs to")
is_scoring = contextvars.ContextVar("whether a scorer asks", default=False)


class Rollout:
    """One sample of an evaluation, with the models of its URLs."""

    def __init__(self, index, urls, model):
        self.index, self.urls, self.model = index, urls, model
        self.result = asyncio.get_running_loop().create_future()
        self.apis = {}

    def api(self):
        from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI

        seat = SEATS[1] if is_scoring.get() else SEATS[0]
        if seat not in self.apis:
            url = self.urls.take(seat)
            self.apis[seat] = OpenAICompatibleAPI(f"atropos/{self.model}", base_url=url, api_key="any")
        return self.apis[seat]

    async def close(self):
        for api in self.apis.values():
            with contextlib.suppress(Exception):  # What was asked is recorded already.
                await api.aclose()


def routed():
    """A model that asks whatever URL the sample under way has."""
    from inspect_ai.model import ModelAPI, get_model, modelapi

    @modelapi(name="atropos")
    class Routed(ModelAPI):
        def __init__(self, model_name, base_url=None, api_key=None, **others):
            super().__init__(model_name, base_url, api_key, [], others["config"])

        async def generate(self, input, tools, tool_choice, config):
            return await current.get().api().generate(input, tools, tool_choice, config)

        def should_retry(self, ex):
            return current.get().api().should_retry(ex)

        def max_connections(self):
            return 1024

    return get_model("atropos/policy", memoize=False)


def run_of(state):
    """What a sample's run is known by; its id where the package has nothing else."""
    return getattr(state, "uuid", state.sample_id)


def asking_apart(scorer, by_run):
    """The scorer, which asks the other URL of its sample; it keeps its name and its metrics."""

    @functools.wraps(scorer)
    async def score(state, target):
        # It does not run where the solver did.
        tokens = [(current, current.set(by_run[run_of(state)])), (is_scoring, is_scoring.set(True))]
        try:
            return await scorer(state, target)
        finally:
            for variable, token in tokens:
                variable.reset(token)

    return score


class Inspect:
    """A task by its name in a package, or by its file (`file.py`, `file.py@task`)."""

    package = "inspect_ai"
    shape = "rollout"

    @staticmethod
    def names():
        from inspect_ai import list_tasks
        from inspect_ai._util.registry import registry_find, registry_info

        for point in importlib.metadata.entry_points(group="inspect_ai"):
            point.load()
        installed = {registry_info(one).name for one in registry_find(lambda info: info.type == "task")}
        return sorted({*installed, *(f"{one.file}@{one.name}" for one in list_tasks())})

    @staticmethod
    def missing(name):
        """None where it is there; else what is to be installed, as pip names it."""
        import inspect_ai  # noqa: F401 - says which package is missing

        file = name.split("@")[0]
        if file.endswith(".py") or pathlib.Path(file).exists():
            if pathlib.Path(file).exists():
                return None
            raise Unknown(f"no such file: {file} in {os.getcwd()}")
        module = name.split("/")[0]
        if "/" not in name or importlib.util.find_spec(module):
            return None
        return module.replace("_", "-")

    def __init__(self, name, config):
        from inspect_ai._eval.loader import load_tasks
        from inspect_ai.model import get_model

        # A file without a name of a task is looked for from here.
        spec = os.path.relpath(name) if os.path.isabs(name) and "@" not in name else name
        try:
            found = load_tasks([spec], config["args"])
        except Exception as error:
            if type(error).__name__ != "PrerequisiteError":
                raise
            raise Unknown(f"{name}: {error}{known_tasks(name)}") from error
        if len(found) != 1:
            known = ", ".join(one.name for one in found) or "none"
            raise Unknown(f"{name} has {len(found)} tasks ({known}): name one, as in file.py@task")
        (self.task,) = found
        if self.task.scorer is None:
            raise Unknown(f"{name} has no scorer, so its rollouts have no reward")
        unknown = unknown_arguments(self.task, config["args"])
        if unknown:
            raise Unknown(f"{name} {unknown} (--env.args)")
        self.samples = list(self.task.dataset)
        self.roles = {role: get_model(model) for role, model in config["roles"].items()}
        self.model = routed()
        self.waiting = []
        self.folder = tempfile.TemporaryDirectory(prefix="atropos-inspect-")

    def info(self):
        return {"shape": self.shape, "count": len(self.samples), "seats": SEATS}

    async def start(self):
        self.come = asyncio.Event()
        self.runner = asyncio.get_running_loop().create_task(self.evaluate_forever())

    async def rollout(self, index, seats, model):
        one = Rollout(index, Urls(seats), model)
        self.waiting.append(one)
        self.come.set()
        return await one.result

    async def evaluate_forever(self):
        while True:
            await self.come.wait()
            await asyncio.sleep(GATHERING_SECONDS)
            self.come.clear()
            # Whoever was given up has a cancelled future.
            rollouts = [one for one in self.waiting if not one.result.done()]
            self.waiting = []
            if not rollouts:
                continue
            evaluating = asyncio.ensure_future(self.evaluate(rollouts))
            given_up = asyncio.gather(*(one.result for one in rollouts), return_exceptions=True)
            try:
                # An evaluation that nobody waits for any more is ended.
                await asyncio.wait([evaluating, given_up], return_when=asyncio.FIRST_COMPLETED)
                if not evaluating.done():
                    evaluating.cancel()
                await evaluating
                error = RuntimeError("the evaluation ended without a result")
            except asyncio.CancelledError:
                if asyncio.current_task().cancelling():
                    raise
                error = RuntimeError("the evaluation was given up")
            except Exception as raised:  # A task may raise anything; it is the answer to each of its rollouts.
                error = raised
            finally:
                for one in rollouts:
                    await one.close()
            for one in rollouts:
                if not one.result.done():
                    one.result.set_exception(error)

    async def evaluate(self, rollouts):
        from inspect_ai import Epochs, eval_async, task_with
        from inspect_ai.dataset import MemoryDataset
        from inspect_ai.solver import solver

        by_id = {f"{self.samples[one.index].id or one.index}#{at}": one for at, one in enumerate(rollouts)}
        by_run = {}

        @solver
        def routing():
            async def solve(state, generate):
                one = by_id[state.sample_id]
                current.set(one)
                if hasattr(state, "uuid"):
                    # Solvers and scorers may look up their sample by its own id.
                    own = self.samples[one.index].id
                    state._sample_id = one.index + 1 if own is None else own
                by_run[run_of(state)] = one
                return state

            return solve

        samples = []
        for name, one in by_id.items():
            sample = copy.deepcopy(self.samples[one.index])
            sample.id = name
            samples.append(sample)
        setup = self.task.setup
        own = [] if setup is None else list(setup) if isinstance(setup, (list, tuple)) else [setup]
        task = task_with(
            copy.copy(self.task),
            dataset=MemoryDataset(samples),
            setup=[routing(), *own],
            scorer=[asking_apart(one, by_run) for one in self.task.scorer],
            # Its own reducer may need several epochs; every rollout has its own reward.
            epochs=Epochs(1, "mean"),
        )
        options = {
            "model": self.model,
            "model_roles": self.roles or None,
            "log_dir": self.folder.name,
            "log_level": "warning",
            "log_realtime": False,
            "log_images": False,
            "epochs": 1,
            "fail_on_error": False,
            "max_samples": len(samples),
            "max_retries": 3,
            "max_connections": 64,
            "score_display": False,
            "acp_server": False,
            "ctl_server": False,
        }
        # Not every version has them all.
        known = signatures.signature(eval_async).parameters
        kept = {key: value for key, value in options.items() if key in known or key in GENERATION}
        (log,) = await eval_async(task, **kept)
        found = {str(sample.id): sample for sample in log.samples or []}
        for name, one in by_id.items():
            if not one.result.done():
                one.result.set_result(result_of(found.get(name), log))
        # Samples are read from them when they are first looked at.
        for path in pathlib.Path(self.folder.name).iterdir():
            path.unlink()

    async def close(self):
        self.runner.cancel()
        await asyncio.gather(self.runner, return_exceptions=True)
        self.folder.cleanup()


def known_tasks(name):
    """Lists the tasks of a file."""
    from inspect_ai import list_tasks

    file = pathlib.Path(name.split("@")[0])
    names = [one.name for one in list_tasks([file.name], root_dir=file.resolve().parent)] if file.is_file() else []
    return f" {file.name} has {', '.join(names)}" if names else ""


def unknown_arguments(task, arguments):
    """Describes arguments that the task does not have: the package would ignore them."""
    from inspect_ai._util.registry import registry_info, registry_lookup

    made_by = registry_lookup("task", registry_info(task).name)
    if made_by is None:
        return ""
    known = signatures.signature(made_by).parameters
    unknown = [one for one in arguments if one not in known]
    if not unknown or any(one.kind == one.VAR_KEYWORD for one in known.values()):
        return ""
    return f"has no argument {', '.join(unknown)}; it has {', '.join(known) or 'none'}"


def result_of(sample, log):
    if sample is None or sample.error is not None or not sample.scores:
        error = (sample and sample.error) or log.error
        why = f"{error.message}" if error else "its scorers gave no score"
        return {"ok": False, "errors": [shortened(why)], "traces": []}
    rewards = dict(pair for name, score in sample.scores.items() for pair in numbers(name, score.value))
    unscored = [name for name, value in rewards.items() if not math.isfinite(value)]
    if unscored:
        return {"ok": False, "errors": [f"{', '.join(unscored)} gave no score"], "traces": []}
    trace = {
        "seat": SEATS[0],
        "session": 0,
        "trainable": True,
        "reward": sum(rewards.values()),
        "rewards": rewards,
    }
    return {"ok": True, "errors": [], "traces": [trace]}


def numbers(name, value):
    """A score as numbers, as the package's own metrics take it; one of several values has a name for each."""
    from inspect_ai.scorer import value_to_float

    to_float = value_to_float()
    if isinstance(value, dict):
        return [(f"{name}.{key}", float(to_float(one))) for key, one in value.items() if one is not None]
    if isinstance(value, (list, tuple)):
        return [(f"{name}.{at}", float(to_float(one))) for at, one in enumerate(value)]
    return [(name, float(to_float(value)))]
