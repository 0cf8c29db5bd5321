"""Groups as the service packs them, and the rows that TRL is given for them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._http import AtroposError

PACKED = "application/vnd.atropos.group"
_UNTRAINED = -100


@dataclass
class Group:
    """A scored group as the service packs it (docs/protocol.md, "Groups as packed binary")."""

    id: str
    env_id: int | None
    policy_versions: Sequence[int | None]
    tokens: list[np.ndarray]
    masks: list[np.ndarray]
    scores: list[float]
    logprobs: list[np.ndarray] | None
    has_token_advantages: bool
    rest: Mapping[str, Any]


def _aligned(offset: int) -> int:
    return -(-offset // 8) * 8


def _prelude(data: memoryview, magic: bytes, what: str) -> tuple[int, int]:
    if len(data) < 16 or bytes(data[:4]) != magic:
        raise AtroposError(f"the service's answer is not {what}")
    version, first, second = struct.unpack_from("<III", data, 4)
    if version != 1:
        raise AtroposError(f"{what} of version {version}; this package reads version 1: update it")
    return first, second


def _read_group(id: str, data: memoryview) -> Group:
    shape_bytes, rest_bytes = _prelude(data, b"ATPG", "a packed group")
    shape = json.loads(bytes(data[16 : 16 + shape_bytes]))
    start = _aligned(16 + shape_bytes)
    rest = json.loads(bytes(data[start : start + rest_bytes]) or b"{}")
    offset = _aligned(start + rest_bytes)
    sections: dict[str, np.ndarray] = {}
    for name, kind, length in shape["sections"]:
        dtype = np.dtype({"i32": "<i4", "f32": "<f4", "f64": "<f8"}[kind])
        sections[name] = np.frombuffer(data, dtype, length, offset)
        offset = _aligned(offset + length * dtype.itemsize)
    lengths = sections["tokens.lengths"]

    def rows(name: str) -> list[np.ndarray] | None:
        if name not in sections:
            return None
        ends = np.cumsum(sections.get(f"{name}.lengths", lengths))
        return np.split(sections[name], ends[:-1]) if len(ends) > 0 else []

    tokens = rows("tokens") or []
    return Group(
        id=id,
        env_id=shape["env_id"],
        policy_versions=shape["policy_versions"] or [None] * len(tokens),
        tokens=tokens,
        masks=rows("masks") or [],
        scores=sections["scores"].tolist(),
        logprobs=rows("inference_logprobs"),
        has_token_advantages=sections.get("advantages", lengths[:0]).size > 0,
        rest=rest,
    )


def read_groups(body: bytes) -> list[Group]:
    data = memoryview(body)
    index_bytes, count = _prelude(data, b"ATPL", "a list of packed groups")
    index = json.loads(bytes(data[16 : 16 + index_bytes]))
    offset = _aligned(16 + index_bytes)
    groups = []
    for entry in index:
        groups.append(_read_group(entry["key"], data[offset : offset + entry["bytes"]]))
        offset = _aligned(offset + entry["bytes"])
    if len(groups) != count:
        raise AtroposError(f"the service's answer lists {len(groups)} groups and says {count}")
    return groups


@dataclass
class Rows:
    """A batch as TRL wants it, one entry per sequence, groups side by side."""

    prompt_ids: list[list[int]] = field(default_factory=list)
    completion_ids: list[list[int]] = field(default_factory=list)
    logprobs: list[list[float | None]] = field(default_factory=list)
    env_mask: list[list[int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    environments: list[int | None] = field(default_factory=list)
    versions: list[int | None] = field(default_factory=list)
    unknown: int = 0
    """Trained tokens without a log-probability."""


@dataclass
class Expected:
    """What every group must fit."""

    group_size: int
    temperature: float
    vocabulary: int | None


def _is_trained(tokens: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(T) whether a token is trained: labels are the token or -100; a mask of zeros and ones is taken as it is."""
    is_binary = bool(((labels == 0) | (labels == 1)).all()) and not bool((labels == tokens).all())
    return np.asarray(labels != (0 if is_binary else _UNTRAINED))


def add_group(rows: Rows, group: Group, expected: Expected) -> None:
    """Adds a group's sequences; raises `AtroposError` where TRL could not train on it as it was meant."""
    name = f"group {group.id} of environment {group.env_id}"
    size = len(group.tokens)
    if size != expected.group_size:
        raise AtroposError(
            f"{name} has {size} sequences; TRL compares num_generations = {expected.group_size} with each other. Set "
            f"num_generations={size}, or the environment's group_size to {expected.group_size}"
        )
    if group.has_token_advantages:
        raise AtroposError(f"{name} has advantages per token; GRPOTrainer has no place for them (`atropos train` does)")
    if group.rest.get("images"):
        raise AtroposError(f"{name} has pictures; this package trains on text alone")
    overrides = group.rest.get("overrides") or [{}] * size
    sessions = [own["session"] for own in overrides if own.get("session") is not None]
    if len(set(map(str, sessions))) < len(sessions):
        raise AtroposError(
            f"{name} has several sequences of one session; GRPOTrainer would count the session more than once in the "
            "group's mean (`atropos train` does not)"
        )
    common = {**(group.rest.get("group_overrides") or {}), **(group.rest.get("generation_params") or {})}
    for i, (tokens, labels) in enumerate(zip(group.tokens, group.masks, strict=True)):
        logprobs = None if group.logprobs is None else group.logprobs[i]
        _add_sequence(rows, f"sequence {i} of {name}", tokens, labels, logprobs, {**common, **overrides[i]}, expected)
        rows.scores.append(group.scores[i])
        rows.environments.append(group.env_id)
        rows.versions.append(group.policy_versions[i])


def _add_sequence(
    rows: Rows,
    name: str,
    tokens: np.ndarray,
    labels: np.ndarray,
    logprobs: np.ndarray | None,
    sampling: Mapping[str, Any],
    expected: Expected,
) -> None:
    if len(tokens) < 2:
        raise AtroposError(f"{name} has {len(tokens)} tokens; a prompt and a completion need two")
    if expected.vocabulary is not None and int(tokens.max()) >= expected.vocabulary:
        raise AtroposError(
            f"{name} has token {int(tokens.max())}, the model has {expected.vocabulary}: the environment was sampled "
            "with another model or tokenizer"
        )
    temperature = sampling.get("temperature")
    if temperature is not None and not math.isclose(float(temperature), expected.temperature, rel_tol=1e-6):
        raise AtroposError(
            f"{name} was sampled at temperature {temperature}; TRL computes probabilities at {expected.temperature}. "
            f"Set GRPOConfig(temperature={temperature}), or the environment's temperature"
        )
    trained = _is_trained(tokens, labels)
    trained[0] = False  # nothing before it says how likely it was
    if sampling.get("set_advantage_to_zero"):
        trained[:] = False  # its score counts in the group's mean, its tokens are not trained
    at = np.flatnonzero(trained)
    # What is never trained before the first trained token is the prompt, after the last one it is of no use. A sequence
    # without trained tokens counts in the group's mean: its last token stands for a completion, masked.
    first, end = (int(at[0]), int(at[-1]) + 1) if len(at) > 0 else (len(tokens) - 1, len(tokens))
    # Raw log-probabilities are those of temperature 1: at another they say nothing of what was sampled from.
    # Those after penalties or a form are of a distribution that the trainer cannot compute.
    off = {"repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0, "logit_bias": {}, "constrained": False}
    is_shifted = any(sampling.get(name) not in (None, value) for name, value in off.items())
    mode = sampling.get("logprobs_mode")
    is_other = (mode == "raw" and expected.temperature != 1) or (mode == "processed" and is_shifted)
    known = np.full(len(tokens), np.nan) if logprobs is None or is_other else logprobs
    row: list[float | None] = [
        0.0 if not is_trained else float(value) if value <= 0.5 else None  # 1 and NaN: not sampled
        for is_trained, value in zip(trained[first:end].tolist(), known[first:end].tolist(), strict=True)
    ]
    rows.prompt_ids.append(tokens[:first].tolist())
    rows.completion_ids.append(tokens[first:end].tolist())
    rows.env_mask.append(trained[first:end].astype(int).tolist())
    rows.logprobs.append(row)
    rows.unknown += sum(value is None for value in row)
