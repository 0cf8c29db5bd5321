/** Programs of agents in containers, for tests: busybox asks the model, and the task's tests print what it found. */
import type { ServerManager } from "@atropos/core"
import { Effect, FileSystem } from "effect"
import * as Rolling from "./Rolling.ts"

const test = `#!/bin/sh
cat /app/probe.txt 2>/dev/null
if grep -q Ada /app/answer.json; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
`

/** A task for such a program, with a network of this mode, and time. */
export const task = Effect.fnUntraced(function* (mode: "public" | "no-network") {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/task`
  yield* fs.copy(Rolling.folder("containers/shared"), folder)
  const toml = (yield* fs.readFileString(`${folder}/task.toml`))
    .replace("no-network", mode)
    .replaceAll("timeout_sec = 60.0", "timeout_sec = 3600.0")
  yield* fs.writeFileString(`${folder}/task.toml`, toml)
  yield* fs.writeFileString(`${folder}/tests/test.sh`, test)
  return folder
})

const chat = JSON.stringify({ model: "default", messages: [{ role: "user", content: "Who?" }] })

export const asking = `wget -q -O answer.json --header "Content-Type: application/json" --post-data '${chat}' "$OPENAI_BASE_URL/chat/completions"`

export const model: ServerManager.Script = () => "Ada"
