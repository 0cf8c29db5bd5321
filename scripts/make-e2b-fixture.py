"""Writes packages/envs/test/fixtures/e2b.json, by which a stand-in of E2B's servers judges requests.

    python scripts/make-e2b-fixture.py FOLDER   # a checkout of github.com/e2b-dev/E2B; needs PyYAML

It keeps the structure alone (paths, parameters, types, required fields) of what is used: no descriptions.
"""

import json
import pathlib
import re
import sys

import yaml

root = pathlib.Path(sys.argv[1])
out = pathlib.Path(__file__).parent.parent / "packages/envs/test/fixtures/e2b.json"
WORDS = {"description", "summary", "example", "examples", "deprecated", "tags", "title", "x-go-type", "x-oapi-codegen-extra-tags"}


def bare(value):
    """Structure without words; `properties` may have names that are such words elsewhere."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: bare(one) for name, one in part.items()} if key == "properties" else bare(part)
        for key, part in value.items()
        if key not in WORDS
    }


def schemas(document, names):
    """The named schemas and those that they refer to."""
    found = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = bare(document["components"]["schemas"][name])
        waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found[name]))
    return found


def operation(document, path, method):
    given = document["paths"][path][method]
    body = given.get("requestBody", {}).get("content", {})
    return {"statuses": sorted(str(code) for code in given["responses"]), "body": sorted(body)}


def messages(proto):
    """Fields of protobuf's messages, by name; nested ones by their own names."""
    found, open_ = {}, []
    for line in proto.splitlines():
        line = line.split("//")[0].strip()
        if begun := re.match(r"message (\w+) \{(\})?", line):
            found[begun[1]] = {}
            if not begun[2]:
                open_.append(begun[1])
        elif re.match(r"(oneof|enum|service) ", line):
            open_.append(None if not line.startswith("oneof") else (open_[-1] if open_ else None))
        elif line.startswith("}") and open_:
            open_.pop()
        elif field := re.match(r"(repeated |optional )?(map<[^>]*>|[\w.]+) (\w+) = \d+;", line):
            if open_ and open_[-1] is not None:
                name = re.sub(r"_(\w)", lambda letter: letter[1].upper(), field[3])
                found[open_[-1]][name] = ("repeated " if (field[1] or "").startswith("repeated") else "") + field[2]
    return found


platform = yaml.safe_load((root / "spec/openapi.yml").read_text())
inside = yaml.safe_load((root / "spec/envd/envd.yaml").read_text())
process = messages((root / "spec/envd/process/process.proto").read_text())
used = ["StartRequest", "ProcessConfig", "SendSignalRequest", "ProcessSelector"]
fixture = {
    "schemas": schemas(platform, ["NewSandbox", "SandboxTimeoutRequest", "Sandbox", "Error"]),
    "platform": {
        "POST /sandboxes": operation(platform, "/sandboxes", "post"),
        "DELETE /sandboxes/{sandboxID}": operation(platform, "/sandboxes/{sandboxID}", "delete"),
        "POST /sandboxes/{sandboxID}/timeout": operation(platform, "/sandboxes/{sandboxID}/timeout", "post"),
    },
    "sandbox": {
        "GET /files": operation(inside, "/files", "get"),
        "POST /files": operation(inside, "/files", "post"),
    },
    "process": {name: process[name] for name in used},
}
out.write_text(json.dumps(fixture, indent=2, sort_keys=True) + "\n")
print(f"{out}: {len(fixture['schemas'])} schemas")
