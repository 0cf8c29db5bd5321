"""An environment of the original, unmodified base class, whose inference is instant: groups of 8 x 64 tokens.

Run with the original's checkout as the working folder: python original_environment.py PORT TOKENIZER_FOLDER WORKERS
"""

import asyncio
import sys

from atroposlib.envs.base import APIServerConfig, BaseEnv, BaseEnvConfig

TOKENS = list(range(1, 65))
GROUP = {
    "tokens": [TOKENS] * 8,
    "masks": [[-100] * 32 + TOKENS[32:]] * 8,
    "scores": [1.0, -1.0] * 4,
    "inference_logprobs": [[1.0] * 32 + [-0.5] * 32] * 8,
}


class InstantEnv(BaseEnv):
    name = "instant"

    async def setup(self):
        self.count = 0

    async def get_next_item(self):
        self.count += 1
        return {"index": self.count}

    async def collect_trajectories(self, item):
        return dict(GROUP), []

    async def evaluate(self, *args, **kwargs):
        return None


config = BaseEnvConfig(
    group_size=8,
    max_num_workers=int(sys.argv[3]),
    max_batches_offpolicy=100,
    steps_per_eval=0,
    total_steps=1_000_000,
    tokenizer_name=sys.argv[2],
    rollout_server_url=f"http://127.0.0.1:{sys.argv[1]}",
    use_wandb=False,
    wandb_name="instant",
)
servers = [APIServerConfig(base_url="http://127.0.0.1:9/v1", api_key="x", model_name="none")]
asyncio.run(InstantEnv(config, servers).env_manager())
