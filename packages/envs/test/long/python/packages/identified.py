"""An evaluation of inspect_ai whose scorer looks up its sample by id, with names that are no names of components."""

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, solver

ANSWERS = {"no": "Oslo", 7: "Lima", 3: "Tokyo"}


@solver
def noting():
    async def solve(state, generate):
        state.metadata["solved"] = state.sample_id
        return state

    return solve


@scorer(metrics=[accuracy()])
def by_id():
    async def score(state, target):
        own = ANSWERS[state.sample_id] == target.text and state.metadata["solved"] == state.sample_id
        return Score(value={"own": own, "a b": 2, "a_b": 4, "größe": 8, "grüße": 16})

    return score


@task
def identified(land: str = "Peru"):
    samples = [
        Sample(input="The capital of Norway?", target="Oslo", id="no"),
        Sample(input=f"The capital of {land}?", target="Lima", id=7),
        Sample(input="The capital of Japan?", target="Tokyo"),
    ]
    return Task(
        dataset=MemoryDataset(samples), solver=[noting(), generate()], scorer=by_id(), epochs=Epochs(2, "at_least_2")
    )
