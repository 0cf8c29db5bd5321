"""What reasoning-gym itself says of its first items: for every data set the gold answer, three wrong ones, and their
scores. Of the data sets every n-th is taken; those that can be made have the seeds of the parts of a mix."""

import json
import sys

import reasoning_gym
from reasoning_gym.factory import DATASETS

seed, count, nth = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
wrong = ["", "nonsense", "-12345"]
found = {}


def score(dataset, answer, entry):
    """None where the package's scorer raises an exception."""
    try:
        return float(dataset.score_answer(answer=answer, entry=entry))
    except Exception:
        return None


sound = 0
for name in sorted(DATASETS)[::nth]:
    try:
        dataset = reasoning_gym.create_dataset(name, seed=seed + 7919 * sound, size=10_000)
        items = []
        for index in range(count):
            entry = dataset[index]
            answers = [str(entry["answer"]), *wrong]
            items.append(
                {
                    "question": entry["question"],
                    "answers": answers,
                    "scores": [score(dataset, one, entry) for one in answers],
                }
            )
        found[name] = items
        sound += 1
    except Exception as error:  # Whatever the package itself cannot do is told.
        found[name] = f"{type(error).__name__}: {error}"
# Some data sets print what they do.
print("\n" + json.dumps(found))
