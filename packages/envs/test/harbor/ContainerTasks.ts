/** Tasks for containers, and a program for them that asks the model by busybox; the tests print what it found. */
import type { ServerManager } from "@atropos/core"
import { Effect, FileSystem } from "effect"
import * as Rolling from "./Rolling.ts"

const test = `#!/bin/sh
cat /app/probe.txt 2>/dev/null
if grep -q Ada /app/answer.json; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
`

/** A copy of a task, with its files changed. */
export const task = Effect.fnUntraced(function* (
  name: "shared" | "separate",
  change: { readonly [file: string]: (text: string) => string } = {}
) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/task`
  yield* fs.copy(Rolling.folder(`containers/${name}`), folder)
  for (const [file, to] of Object.entries(change)) {
    const path = `${folder}/${file}`
    yield* fs.writeFileString(path, to(yield* fs.readFileString(path)))
  }
  return folder
})

/** A task for a program that asks the model, with a network of this mode, and time. */
export const asked = (mode: "public" | "no-network") =>
  task("shared", {
    "task.toml": (text) => text.replace("no-network", mode).replaceAll("timeout_sec = 60.0", "timeout_sec = 3600.0"),
    "tests/test.sh": () => test
  })

const chat = JSON.stringify({ model: "default", messages: [{ role: "user", content: "Who?" }] })

export const asking = `wget -q -O answer.json --header "Content-Type: application/json" --post-data '${chat}' "$OPENAI_BASE_URL/chat/completions"`

export const model: ServerManager.Script = () => "Ada"
