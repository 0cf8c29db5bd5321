"""Reads TensorBoard event files with TensorBoard's own reader, checksums included, and prints what is in them.

    node --conditions=atropos-src packages/cli/bin/atropos.js up --steps 20 --metrics.tensorboard true
    python scripts/check-event-files.py .atropos/up/sort-letters-1

For every run below the folder `tensorboard`: each scalar with its number of values, first and last step and last value; each text with its
length. Where a run's figures are in a file of JSON lines too (metrics.jsonl, <run>.metrics.jsonl), every value is compared with it, to
32 bits. Exits 1 where something is missing or differs. Needs tensorboard and numpy (2.21.0 and 2.4.6 when written).
"""

import json
import sys
from pathlib import Path

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

LABELS = {"step", "policy_version", "batch"}


def figures_of(folder, run):
    file = folder / ("metrics.jsonl" if run == "trainer" else f"{run}.metrics.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def check(folder, run):
    # Raises where a checksum is wrong.
    for file in run.glob("events.out.tfevents.*"):
        records = sum(1 for _ in RawEventFileLoader(str(file)).Load())
        print(f"{run.name}: {file.name}: {records} records")
    accumulator = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    for tag in accumulator.Tags()["tensors"]:
        events = accumulator.Tensors(tag)
        last = events[-1].tensor_proto.string_val
        print(f"  {tag}: {len(events)} texts, the last of {len(last[0])} bytes at step {events[-1].step}")
    values = {}
    for tag in accumulator.Tags()["scalars"]:
        values[tag] = {event.step: event.value for event in accumulator.Scalars(tag)}
        steps = sorted(values[tag])
        print(f"  {tag}: {len(steps)} values, steps {steps[0]} to {steps[-1]}, last {values[tag][steps[-1]]:.6g}")
    problems = []
    for line in figures_of(folder, run.name):
        for name, value in line.items():
            if name in LABELS:
                continue
            found = values.get(name, {}).get(line["step"])
            if found is None or numpy.float32(value) != numpy.float32(found):
                problems.append(f"{name} at step {line['step']}: {value} recorded, {found} in the event file")
    return problems


def main(folder):
    runs = sorted(path for path in (folder / "tensorboard").iterdir() if path.is_dir())
    problems = [problem for run in runs for problem in check(folder, run)]
    for problem in problems:
        print(problem)
    if not runs:
        problems.append("no runs")
    print("wrong" if problems else f"{len(runs)} runs, all as recorded")
    return 1 if problems else 0


sys.exit(main(Path(sys.argv[1])))
