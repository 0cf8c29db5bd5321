"""What becomes of a group, and what is refused."""

import json
import urllib.request
from typing import Any

import numpy as np
import pytest
from conftest import Run

from atropos_trl import AtroposError
from atropos_trl._groups import PACKED, Expected, Group, Rows, add_group, read_groups

EXPECTED = Expected(group_size=2, temperature=1.0, vocabulary=100)


def group(**given: Any) -> Group:
    tokens = [np.array([5, 6, 7, 8, 9, 10]), np.array([5, 6, 7, 3])]
    masks = [np.array([-100, -100, 7, -100, 9, -100]), np.array([-100, -100, 7, 3])]
    logprobs = [np.array([1, 1, -0.5, 1, -0.25, 1]), np.array([1, 1, -2.0, -3.0])]
    fields: dict[str, Any] = {
        "id": "g1", "env_id": 3, "policy_versions": [2, None], "tokens": tokens, "masks": masks, "scores": [1.0, 0.0],
        "logprobs": logprobs, "has_token_advantages": False, "rest": {}, **given,
    }  # fmt: skip
    return Group(**fields)


def rows_of(one: Group, expected: Expected = EXPECTED) -> Rows:
    rows = Rows()
    add_group(rows, one, expected)
    return rows


def test_splits_at_the_first_trained_token_and_masks_the_middle() -> None:
    rows = rows_of(group())
    assert rows.prompt_ids == [[5, 6], [5, 6]]
    assert rows.completion_ids == [[7, 8, 9], [7, 3]]
    assert rows.env_mask == [[1, 0, 1], [1, 1]]
    assert rows.logprobs == [[-0.5, 0.0, -0.25], [-2.0, -3.0]]
    assert (rows.scores, rows.environments, rows.versions, rows.unknown) == ([1.0, 0.0], [3, 3], [2, None], 0)


def test_reads_masks_of_zeros_and_ones() -> None:
    rows = rows_of(group(masks=[np.array([0, 0, 1, 0, 1, 0]), np.array([0, 0, 1, 1])]))
    assert rows.env_mask == [[1, 0, 1], [1, 1]]


def test_a_sequence_without_trained_tokens_counts_and_is_not_trained() -> None:
    rows = rows_of(group(masks=[np.full(6, -100), np.array([-100, -100, 7, 3])]))
    assert (rows.prompt_ids[0], rows.completion_ids[0], rows.env_mask[0]) == ([5, 6, 7, 8, 9], [10], [0])
    assert rows.scores == [1.0, 0.0]


def test_an_advantage_set_to_zero_trains_nothing() -> None:
    rows = rows_of(group(rest={"overrides": [{}, {"set_advantage_to_zero": True}]}))
    assert rows.env_mask[1] == [0]


def test_the_first_token_is_never_trained() -> None:
    rows = rows_of(group(masks=[np.array([5, 6, 7, 8, 9, 10]), np.array([5, 6, 7, 3])]))
    assert rows.prompt_ids == [[5], [5]]


@pytest.mark.parametrize("missing", [1.0, float("nan")])
def test_counts_trained_tokens_without_a_logprob(missing: float) -> None:
    rows = rows_of(group(logprobs=[np.array([1, 1, -0.5, 1, missing, 1]), np.array([1, 1, -2.0, -3.0])]))
    assert (rows.logprobs[0], rows.unknown) == ([-0.5, 0.0, None], 1)


def test_raw_logprobs_of_another_temperature_are_none() -> None:
    rest = {"generation_params": {"temperature": 0.7, "logprobs_mode": "raw"}}
    assert rows_of(group(rest=rest), Expected(2, 0.7, 100)).unknown == 4
    assert rows_of(group(rest={"generation_params": {"logprobs_mode": "raw"}})).unknown == 0
    off = {"logprobs_mode": "processed", "repetition_penalty": 1, "logit_bias": {}}
    assert rows_of(group(rest={"generation_params": off})).unknown == 0
    assert rows_of(group(rest={"generation_params": {**off, "repetition_penalty": 1.2}})).unknown > 0


@pytest.mark.parametrize(
    ("given", "expected", "says"),
    [
        ({}, Expected(4, 1.0, 100), "group g1 of environment 3 has 2 sequences.*num_generations=2"),
        ({}, Expected(2, 1.0, 8), "sequence 0 of group g1.* has token 10, the model has 8"),
        ({"rest": {"generation_params": {"temperature": 0.7}}}, EXPECTED, "temperature 0.7.*GRPOConfig"),
        ({"rest": {"overrides": [{"temperature": 0.5}, {}]}}, EXPECTED, "sequence 0.*temperature 0.5"),
        ({"has_token_advantages": True}, EXPECTED, "advantages per token"),
        ({"rest": {"images": ["x"]}}, EXPECTED, "pictures"),
        ({"rest": {"overrides": [{"session": "a"}, {"session": "a"}]}}, EXPECTED, "several sequences of one session"),
        ({"tokens": [np.array([5]), np.array([5])], "masks": [np.array([5])] * 2}, EXPECTED, "1 tokens"),
    ],
)
def test_refuses_by_name(given: dict[str, Any], expected: Expected, says: str) -> None:
    with pytest.raises(AtroposError, match=says):
        rows_of(group(**given), expected)


def test_packed_groups_are_those_of_the_services_json(run: Run) -> None:
    spec = {"name": run.name, "batch_size": 4, "max_token_length": 64, "starting_step": 0, "num_steps": 5,
            "checkpoint_dir": "", "save_checkpoint_interval": 0, "wandb_group": "", "wandb_project": ""}  # fmt: skip
    urllib.request.urlopen(
        urllib.request.Request(f"{run.url}/v1/runs", json.dumps(spec).encode(), {"content-type": "application/json"})
    )
    tokens = [[1, 2, 3, 4, 5], [1, 2, 9]]
    sent = {"tokens": tokens, "masks": [[-100, -100, 3, -100, 5], [-100, -100, 9]], "scores": [0.5, -1.25],
            "inference_logprobs": [[1, 1, -0.125, 1, -0.5], [1, 1, -4]], "env_id": 0,
            "generation_params": {"temperature": 0.5}, "overrides": [{"finish_reason": "length"}, {}]}  # fmt: skip
    run.submit([sent, {**sent, "scores": [1, 2], "inference_logprobs": None}])
    claim = {"owner": "test", "wait_seconds": 10, "lease_seconds": 60}
    request = urllib.request.Request(
        f"{run.url}/v1/runs/{run.name}/batches/claim", json.dumps(claim).encode(),
        {"content-type": "application/json", "accept": PACKED},
    )  # fmt: skip
    with urllib.request.urlopen(request) as response:
        first, second = read_groups(response.read())
    assert [row.tolist() for row in first.tokens] == tokens
    assert [row.tolist() for row in first.masks] == sent["masks"]
    assert first.logprobs is not None and [row.tolist() for row in first.logprobs] == sent["inference_logprobs"]
    assert (first.scores, second.scores, second.logprobs) == ([0.5, -1.25], [1, 2], None)
    assert first.rest["generation_params"] == {"temperature": 0.5}
    assert first.rest["overrides"][0] == {"finish_reason": "length"}
