"""Runs an environment file of the original as it is, with rows of local files in place of its data set on the hub.

`datasets.load_dataset(…, split="train")` gives the rows of `<folder>/train.jsonl`; nothing else is touched.

    python environment.py <folder of rows> <environment.py of the original> <its arguments …>
"""

import json
import pathlib
import runpy
import sys

import datasets

folder, environment, *arguments = sys.argv[1:]


def load_dataset(path, name=None, *, split):
    with open(pathlib.Path(folder) / f"{split}.jsonl") as file:
        return datasets.Dataset.from_list([json.loads(line) for line in file])


datasets.load_dataset = load_dataset
sys.argv = [environment, *arguments]
runpy.run_path(environment, run_name="__main__")
