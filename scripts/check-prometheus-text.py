"""Reads Prometheus text with Prometheus' own parser and checks what that lets pass: no sample may come twice.

    curl -s http://127.0.0.1:8000/metrics | python scripts/check-prometheus-text.py

Prints the number of families and samples; raises where a line cannot be read. Needs prometheus_client (0.26.0 when written).
"""

import sys

from prometheus_client.parser import text_string_to_metric_families

families = list(text_string_to_metric_families(sys.stdin.read()))
samples = [(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples]
names = [family.name for family in families]
assert len(set(samples)) == len(samples), sorted(sample for sample in samples if samples.count(sample) > 1)
assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
print(f"{len(families)} families, {len(samples)} samples")
