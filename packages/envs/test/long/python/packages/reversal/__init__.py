"""A taskset of verifiers: words to be said backwards, with two rewards of different weights."""

import verifiers.v1 as vf

WORDS = ["stone", "lamp", "river", "cloud", "chair", "plum"]


class ReversalData(vf.TaskData):
    answer: str


class ReversalTask(vf.Task[ReversalData]):
    @vf.stop
    async def single_turn(self, trace: vf.Trace) -> bool:
        return trace.num_turns >= 1

    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        return float((trace.last_reply or "").strip() == self.data.answer)

    @vf.reward(weight=0.5)
    async def length(self, trace: vf.Trace) -> float:
        return float(len((trace.last_reply or "").strip()) == len(self.data.answer))

    @vf.metric
    async def letters(self, trace: vf.Trace) -> float:
        return float(len((trace.last_reply or "").strip()))

    @vf.metric
    async def unknown(self, trace: vf.Trace) -> float:
        return float("nan")


class ReversalConfig(vf.TasksetConfig):
    words: list[str] = WORDS


class ReversalTaskset(vf.Taskset[ReversalTask, ReversalConfig]):
    def load(self) -> list[ReversalTask]:
        return [
            ReversalTask(
                ReversalData(idx=index, prompt=word, system_prompt="Say it backwards.", answer=word[::-1]),
                self.config.task,
            )
            for index, word in enumerate(self.config.words)
        ]


__all__ = ["ReversalTaskset"]
