/** An output has one owner: who comes second is refused, and nothing of the first one's is touched. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "./Atropos.ts"
import * as Ports from "../../../core/test/base/Ports.ts"

const env = ["--env", Bin.myEnvironment]
/** With a tokenizer: the output is opened before a server answers. */
const server = ["--env.tokenizer_name", "bytes", "--openai.base_url"]

describe("an output", () => {
  for (const [verb, output] of [
    ["process", "data/repeat.jsonl"],
    ["evaluate", "data/repeat-evaluation/samples.jsonl"]
  ] as const) {
    it.live(`of ${verb} is refused to a second process as long as the first one lives, and taken after kill -9`, () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const cwd = yield* InProcess.folder
        const dead = yield* Ports.hangingUp
        const first = yield* Atropos.start([verb, ...env, ...server, `${dead}/v1`], { cwd })
        yield* first.says("waiting for an inference server")
        const words = [verb, ...env, "--testing", "--env.total_steps", "5"]
        const { code, stderr } = yield* InProcess.run(words)
        assert.strictEqual(code, 1)
        assert.match(
          stderr,
          new RegExp(`${output} is being written by another process \\(id ${first.pid}\\): wait for it`)
        )
        yield* first.kill
        assert.strictEqual((yield* InProcess.run(words)).code, 0)
        const lines = (yield* fs.readFileString(`${cwd}/${output}`)).trim().split("\n")
        assert.isAbove(lines.length, 0)
        for (const line of lines) JSON.parse(line)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
  }
})
