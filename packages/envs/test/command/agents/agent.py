"""Asks the model about the item with the standard library alone, and writes its answer into a file."""
import json
import os
import sys
import urllib.request

item = json.load(sys.stdin)
assert item == json.loads(os.environ["ITEM"])


def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages}).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": item["question"]}]
first = ask(messages)
messages += [first, {"role": "user", "content": "Are you sure?"}]
second = ask(messages)
with open("answer.txt", "w") as file:
    file.write(second["content"])
print("done")
