# check.py
import json, subprocess, sys

sample = json.load(sys.stdin)
test = "from solution import *\n" + sample["item"]["test"]
try:
    passed = subprocess.run([sys.executable, "-c", test], timeout=10).returncode == 0
except subprocess.TimeoutExpired:
    passed = False
print(json.dumps({"passes": 1 if passed else 0, "short": 1 if len(sample["messages"]) <= 4 else 0}))
