"""Environments of Python packages as JSON lines.

One request a line on standard input, `{"id", "op", ...}`; one answer a line, `{"id", "result"}` or `{"id", "error",
"kind", "trace"}`, on the descriptor that was standard output. What an environment prints goes to standard error, so
that a print() never breaks the wire. Requests are handled in the order they come, but for those of whole rollouts,
which run at the same time (`atropos_rollouts.py`). Nothing here needs more than Python 3.9 and the package that is
asked for.

Operations: `open` {protocol, kind, name, config} -> {handle, protocol, python, version, ...}, `list` {kind} -> {names},
then by `handle`: items and scores (`item`, `score`), worlds (`reset`, `step`, `close`), or whole rollouts (`rollout`).
`cancel` {id} says that nobody waits for the answer of that id any more.
"""

import difflib
import importlib.metadata
import json
import os
import secrets
import sys
import traceback

from atropos_errors import NotInstalled, Unknown

PROTOCOL = 1
# Far more items than are rolled out at once.
KEPT_ENTRIES = 4096
OPENING, CLOSING = "<answer>", "</answer>"

wire = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
os.dup2(2, 1)
sys.stdout = sys.stderr


def plain(value):
    """Numbers of numpy, tuples, sets and the like as what JSON has."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(one) for one in value), key=str)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def begun(episodes, kept):
    """Keeps an episode under a number that no other process has given: an interpreter may be another's successor."""
    episode = secrets.randbits(52)
    episodes[episode] = kept
    return episode


def episode_of(episodes, episode):
    if episode not in episodes:
        raise LookupError("the episode ended with the interpreter that it began in")
    return episodes[episode]


class ReasoningGym:
    """Items and scores of reasoning-gym: a data set by name, or a mix of several with weights."""

    package = "reasoning-gym"

    @staticmethod
    def names():
        from reasoning_gym.factory import DATASETS

        return sorted(DATASETS)

    def __init__(self, name, config):
        self.parts, self.seed, self.size = config["parts"], config["seed"], config["size"]
        self.sets, self.entries = {}, {}
        for part in range(len(self.parts)):
            self.dataset(part, False)

    def dataset(self, part, held_out):
        """Made when first asked for: some data sets draw all they have beforehand."""
        if (part, held_out) not in self.sets:
            import reasoning_gym

            one = self.parts[part]
            seed = self.seed + 7919 * part + (1_000_003 if held_out else 0)
            settings = self.settings(one["name"], one["level"], one["config"])
            made = reasoning_gym.create_dataset(one["name"], **{"seed": seed, "size": self.size, **settings})
            self.sets[part, held_out] = made
        return self.sets[part, held_out]

    @staticmethod
    def settings(name, level, config):
        """A data set's settings at a level of its curriculum, with changes."""
        if not level:
            return config
        from reasoning_gym.factory import create_curriculum, has_curriculum

        if not has_curriculum(name):
            raise ValueError(f"{name} has no curriculum: leave out its level")
        curriculum = create_curriculum(name)
        for attribute in curriculum.attributes:
            most = len(curriculum.attributes[attribute].levels) - 1
            curriculum.set_attr_level(attribute, min(level, most))
        generated = curriculum.generate_configuration()
        fields = {key: value for key, value in vars(generated).items() if key not in ("seed", "size")}
        return {**fields, **config}

    def info(self):
        return {"shape": "single"}

    def entry(self, part, index, held_out):
        """Made once for its question and its scores: some take seconds, and some are not made alike twice."""
        key = (part, index, held_out)
        if key not in self.entries:
            if len(self.entries) >= KEPT_ENTRIES:
                del self.entries[next(iter(self.entries))]
            self.entries[key] = self.dataset(part, held_out)[index]
        return self.entries[key]

    def item(self, part, index, heldOut):
        entry = self.entry(part, index, heldOut)
        return {"question": entry["question"], "answer": plain(entry["answer"]), "metadata": plain(entry["metadata"])}

    def score(self, part, index, heldOut, completions, extracted=False):
        dataset = self.dataset(part, heldOut)
        entry = self.entry(part, index, heldOut)
        answers = completions if extracted else [self.answer(one) for one in completions]
        scores, raised = [], []
        for at, one in enumerate(answers):
            try:
                scores.append(float(dataset.score_answer(answer=one, entry=entry)))
            except Exception as error:  # Some scorers cannot read every text. What they cannot read is not right.
                scores.append(0.0)
                raised.append({"answer": at, "error": f"{type(error).__name__}: {error}"})
        return {"scores": scores, "raised": raised}

    def answer(self, completion):
        """What stands between the last answer tags; the whole text where there are none."""
        found, position = completion, 0
        # As the package takes it, whose pattern needs a time quadratic in tags that are not closed.
        while (opened := completion.find(OPENING, position)) >= 0:
            begin = opened + len(OPENING)
            end = completion.find(CLOSING, begin)
            if end < 0:
                break
            found, position = completion[begin:end], end + len(CLOSING)
        return found.strip()


class Gymnasium:
    """Worlds of Gymnasium with text or discrete actions."""

    package = "gymnasium"

    @staticmethod
    def names():
        import gymnasium

        return sorted(gymnasium.registry)

    def __init__(self, name, config):
        import gymnasium

        self.make = lambda: gymnasium.make(name, **config.get("kwargs", {}))
        one = self.make()
        self.actions, self.observations = one.action_space, one.observation_space
        one.close()
        discrete = isinstance(self.actions, gymnasium.spaces.Discrete)
        if not discrete and not isinstance(self.actions, gymnasium.spaces.Text):
            raise ValueError(f"{name} has actions {self.actions}: only Discrete and Text actions can be said in words")
        self.count = int(self.actions.n) if discrete else None
        self.start = int(self.actions.start) if discrete else None
        self.worlds = {}

    def info(self):
        return {
            "shape": "world",
            "actions": None if self.count is None else {"count": self.count, "start": self.start},
            "observation": str(self.observations),
        }

    def reset(self, seed):
        world = self.make()
        observation, _ = world.reset(seed=seed)
        return {"episode": begun(self.worlds, world), "observation": plain(observation), "text": str(observation)}

    def step(self, episode, action):
        observation, reward, terminated, truncated, _ = episode_of(self.worlds, episode).step(action)
        return {
            "observation": plain(observation),
            "text": str(observation),
            "reward": float(reward),
            "isOver": bool(terminated or truncated),
            "isTruncated": bool(truncated),
        }

    def close(self, episode):
        world = self.worlds.pop(episode, None)
        if world is not None:
            world.close()
        return {}


class TextArena:
    """Games of TextArena, for one or several players."""

    package = "textarena"

    @staticmethod
    def names():
        import textarena

        return sorted(textarena.envs.registration.ENV_REGISTRY)

    def __init__(self, name, config):
        import textarena

        self.make = lambda: textarena.make(name, **config.get("kwargs", {}))
        self.players = int(config.get("players", 2))
        self.games = {}

    def info(self):
        return {"shape": "game"}

    def look(self, episode):
        """Whose turn it is, and what that player is told: where its last text goes on, what came since."""
        game, told = episode_of(self.games, episode)
        player, observation = game.get_observation()
        text = observation if isinstance(observation, str) else str(observation)
        before = told.get(player, "")
        told[player] = text
        news = text[len(before) :] if before and text.startswith(before) else text
        return {"player": int(player), "text": news.strip()}

    def reset(self, seed):
        game = self.make()
        game.reset(num_players=self.players, seed=seed)
        episode = begun(self.games, (game, {}))
        return {"episode": episode, **self.look(episode)}

    def step(self, episode, action):
        game, _ = episode_of(self.games, episode)
        done, _ = game.step(action=action)
        if not done:
            return {"isOver": False, **self.look(episode)}
        rewards, _ = game.close()
        return {"isOver": True, "rewards": [float((rewards or {}).get(at, 0)) for at in range(self.players)]}

    def close(self, episode):
        self.games.pop(episode, None)
        return {}


# Those that the packages of the environments are imported by.
MODULES = {"reasoning_gym", "gymnasium", "textarena", "verifiers", "inspect_ai"}
OPERATIONS = {"item", "score", "reset", "step", "close"}
KINDS = {"reasoning-gym": ReasoningGym, "gymnasium": Gymnasium, "textarena": TextArena}
handles = {}


def kind_of(name):
    if name == "verifiers":
        from atropos_verifiers import Verifiers

        return Verifiers
    if name == "inspect":
        from atropos_inspect import Inspect

        return Inspect
    if name not in KINDS:
        raise ValueError(f"unknown kind {name}: one of {', '.join(sorted([*KINDS, 'verifiers', 'inspect']))}")
    return KINDS[name]


def check_names(kind, wanted):
    names = None
    for name in wanted:
        if hasattr(kind, "missing"):
            distribution = kind.missing(name)
            if distribution is None:
                continue
        names = kind.names() if names is None else names
        if name not in names:
            # A package that is not there is told from a typo: only a name very like it is one.
            near = difflib.get_close_matches(name, names, 3, 0.8 if hasattr(kind, "missing") else 0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            message = f"{kind.package} has no {name} among its {len(names)} names{hint}"
            if hasattr(kind, "missing") and not near:
                raise NotInstalled(distribution, message)
            raise Unknown(message)


def opened(kind, name, config, protocol):
    """The environment, and what is told of it."""
    if protocol != PROTOCOL:
        raise ValueError(f"the bridge speaks protocol {PROTOCOL}, not {protocol}")
    made = kind_of(kind)
    check_names(made, [part["name"] for part in config.get("parts", [{"name": name}])])
    environment = made(name, config)
    handle = len(handles)
    handles[handle] = environment
    return environment, {
        "handle": handle,
        "protocol": PROTOCOL,
        "python": sys.version.split()[0],
        "pid": os.getpid(),
        "version": importlib.metadata.version(environment.package),
        **environment.info(),
    }


def handled(request):
    operation = request.pop("op")
    if operation == "open":
        return opened(**request)[1]
    if operation == "list":
        return {"names": kind_of(request["kind"]).names()}
    if operation not in OPERATIONS:
        raise ValueError(f"unknown operation {operation}")
    return getattr(handles[request.pop("handle")], operation)(**request)


def answered(number, result):
    wire.write(json.dumps({"id": number, "result": result}, allow_nan=False) + "\n")


def failed(number, error):
    if isinstance(error, ModuleNotFoundError) and error.name is None:
        # Raised by a package for a name that it does not know, such as one of a setting.
        error = Unknown(str(error)).with_traceback(error.__traceback__)
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__)).strip().splitlines()
    answer = {
        "id": number,
        "error": f"{type(error).__name__}: {error}",
        "kind": type(error).__name__,
        "trace": trace[-6:],
    }
    if isinstance(error, NotInstalled):
        answer["distribution"] = error.distribution
    elif isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.split(".")[0]
        if module not in MODULES:
            answer["distribution"] = module
    wire.write(json.dumps(answer) + "\n")


def is_rollout(request):
    return request["op"] == "open" and hasattr(kind_of(request["kind"]), "rollout")


def main():
    # Programs that came with this interpreter are found by those that the packages start.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    lines = iter(sys.stdin.readline, "")
    for line in lines:
        request = json.loads(line)
        if is_rollout(request):
            import asyncio

            from atropos_rollouts import serve

            return asyncio.run(serve(lines, request, lambda values: opened(**values), answered, failed))
        number = request.pop("id")
        if request["op"] == "cancel":
            continue
        try:
            answered(number, handled(request))
        except Exception as error:  # An environment may raise anything; it is the answer.
            failed(number, error)


main()
