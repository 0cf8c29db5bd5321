"""Writes right answers to items of reasoning-gym's needle_haystack, for the supervised steps before: rows.py FOLDER.

Their seed is neither that of the training items nor that of the held-out ones.
"""

import json
import os
import sys

import reasoning_gym

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
items = reasoning_gym.create_dataset("needle_haystack", size=256, seed=777, min_num_statements=5, max_num_statements=8)
with open(os.path.join(folder, "warm-up.jsonl"), "w") as file:
    for item in items:
        turns = [{"from": "human", "value": item["question"]}, {"from": "gpt", "value": item["answer"]}]
        file.write(json.dumps({"conversations": turns}) + "\n")
