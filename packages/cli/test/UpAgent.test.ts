/** `atropos up` on an agent that was not written for training: it asks a model over HTTP, by an SDK, over two turns. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"

const agent = fileURLToPath(new URL("fixtures/shop.ts", import.meta.url))

describe("atropos up, with an agent of the AI SDK", () => {
  // That its reward rises, nightly/UpAgent.test.ts shows.
  it.live("trains on its turns and evaluates it before and after", () =>
    Effect.gen(function* () {
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", agent, "--seed", "1", "--steps", "1"]
      const few = ["--env.evaluation_items", "4", "--batch_size", "16", "--env.group_size", "4"]
      const { code, stderr, stdout } = yield* Bin.run([...words, ...few], { cwd: yield* Bin.folder })
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /mean reward\s+(\d\.\d+) at the start, (\d\.\d+) at the end/)
      assert.match(stdout, /\(\d of 4\) before, .*\(\d of 4\) after/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
