"""Records episodes of Gymnasium's Blackjack and Taxi, to be replayed by packages/envs/test.

Usage: python scripts/record-gymnasium-episodes.py (needs gymnasium). Writes packages/envs/test/fixtures/gymnasium-{blackjack,taxi}.json.gz:
a thousand episodes each. Blackjack: rules, cards in the order they were drawn, actions (1 hit, 0 stick), observations, rewards.
Taxi: states, actions and rewards, half of them along a noisy shortest way, so that many deliver.
"""

import gzip
import json
import random
from pathlib import Path

import gymnasium as gym

FIXTURES = Path(__file__).parent.parent / "packages" / "envs" / "test" / "fixtures"
EPISODES = 1000
RULES = [{"sab": True, "natural": False}, {"sab": False, "natural": False}, {"sab": False, "natural": True}]


def write(name, episodes):
    FIXTURES.mkdir(parents=True, exist_ok=True)
    body = json.dumps({"gymnasium": gym.__version__, "episodes": episodes}, separators=(",", ":"))
    with open(FIXTURES / f"gymnasium-{name}.json.gz", "wb") as file:
        file.write(gzip.compress(body.encode(), 9, mtime=0))


def blackjack(index):
    rules = RULES[index % len(RULES)]
    env = gym.make("Blackjack-v1", **rules)
    observation, _ = env.reset(seed=index)
    choose = random.Random(index)
    observations, actions, rewards = [[int(value) for value in observation]], [], []
    over = False
    while not over:
        # Hands that are let grow reach every branch: busts, naturals that are hit, soft totals.
        actions.append(choose.choice([0, 1]) if observation[0] < 20 else choose.choice([0, 0, 0, 1]))
        observation, reward, over, _, _ = env.step(actions[-1])
        observations.append([int(value) for value in observation])
        rewards.append(reward)
    player, dealer = env.unwrapped.player, env.unwrapped.dealer
    cards = dealer[:2] + player[:2] + player[2:] + dealer[2:]
    return {"rules": rules, "cards": cards, "actions": actions, "observations": observations, "rewards": rewards}


def distances(env):
    table = env.unwrapped.P
    best = {state: 0 for state in table}
    for _ in range(60):
        for state in table:
            best[state] = max(
                reward if done else reward + 0.99 * best[after]
                for ((_, after, reward, done),) in table[state].values()
            )
    return best


def taxi(index, env, best):
    state, _ = env.reset(seed=index)
    choose = random.Random(index)
    states, actions, rewards = [int(state)], [], []
    over = cut = False
    while not (over or cut) and len(actions) < (200 if index % 100 == 0 else 40):
        table = env.unwrapped.P[state]
        greedy = max(table, key=lambda a: table[a][0][2] + (0 if table[a][0][3] else 0.99 * best[table[a][0][1]]))
        actions.append(greedy if choose.random() < (0.7 if index % 2 else 0.2) else choose.randrange(6))
        state, reward, over, cut, _ = env.step(actions[-1])
        states.append(int(state))
        rewards.append(reward)
    return {"states": states, "actions": actions, "rewards": rewards, "over": bool(over)}


write("blackjack", [blackjack(index) for index in range(EPISODES)])
cab = gym.make(next(name for name in ("Taxi-v4", "Taxi-v3") if name in gym.registry))
values = distances(cab)
episodes = [taxi(index, cab, values) for index in range(EPISODES)]
write("taxi", episodes)
print(sum(episode["over"] for episode in episodes), "of", EPISODES, "taxi episodes delivered")
