/** `atropos up` on an agent that was not written for training: it asks a model over HTTP, by an SDK, over two turns. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"

const agent = fileURLToPath(new URL("../fixtures/shop.ts", import.meta.url))

describe("atropos up, with an agent of the AI SDK", () => {
  it.live("raises its reward, though it is never told what to look up", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", agent, "--seed", "1"]
      const { code, stderr, stdout } = yield* Bin.run([...words, "--env.evaluation_items", "8"], { cwd })
      assert.strictEqual(code, 0, stderr)
      const [, start, end] = /mean reward\s+(\d\.\d+) at the start, (\d\.\d+) at the end/.exec(stdout) ?? []
      // From 0.36 to 0.55, from 0.36 to 0.70 and from 0.44 to 0.67 with three seeds.
      assert.isAbove(Number(end), Number(start) + 0.1, stdout)
      assert.match(stdout, /\(\d of 8\) before, .*\(\d of 8\) after/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
