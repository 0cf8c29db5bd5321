# agent.py
import json, os, sys, urllib.request

item = json.load(sys.stdin)

def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages}).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]

messages = [{"role": "user", "content": item["task"] + " Answer with the file alone."}]
with open("solution.py", "w") as file:
    file.write(ask(messages)["content"])
