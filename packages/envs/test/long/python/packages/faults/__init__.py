"""A taskset of verifiers whose reward is what `mode` names, most of it of no use."""

import asyncio
import math
import os
import signal

import verifiers.v1 as vf


class FaultsData(vf.TaskData):
    mode: str


class FaultsTask(vf.Task[FaultsData]):
    @vf.stop
    async def single_turn(self, trace: vf.Trace) -> bool:
        return trace.num_turns >= 1

    @vf.reward(weight=2.0)
    async def main(self, trace: vf.Trace):
        mode = self.data.mode
        if mode == "nan":
            return math.nan
        if mode == "overflow":
            return {"first": 1e308, "second": 1e308}
        if mode == "group":
            raise ExceptionGroup("several", [ValueError("one"), TypeError("other")])
        if mode == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "cancelled":
            raise asyncio.CancelledError
        if mode == "long":
            raise ValueError(f"the beginning {'-' * 5000} the end")
        return {"a b": 1, "a_b": 2, "größe": 4, "grüße": 8}


class FaultsConfig(vf.TasksetConfig):
    mode: str = ""


class FaultsTaskset(vf.Taskset[FaultsTask, FaultsConfig]):
    def load(self):
        return [FaultsTask(FaultsData(prompt=f"Say {at}.", mode=self.config.mode), self.config.task) for at in range(4)]


__all__ = ["FaultsTaskset"]
