/** `atropos up` on an agent that was not written for training: it asks a model over HTTP, by an SDK, over two turns. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"

const agent = fileURLToPath(new URL("../../../examples/17-ai-sdk-agent.ts", import.meta.url))

describe("atropos up, with an agent of the AI SDK", () => {
  it.live("raises its reward from below 0.3 to above 0.7, though it is never told what to look up", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", agent, "--training_steps", "80"]
      const { code, stderr, stdout } = yield* Bin.run(words, { cwd })
      assert.strictEqual(code, 0, stderr)
      const [, start, end] = /mean reward\s+(\d\.\d+) at the start, (\d\.\d+) at the end/.exec(stdout) ?? []
      assert.isBelow(Number(start), 0.3, stdout)
      assert.isAbove(Number(end), 0.7, stdout)
      const [, solved] = /\((\d+) of 128\) after/.exec(stdout) ?? []
      assert.isAtLeast(Number(solved), 100, stdout)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
