/** `atropos up` on a game that one model plays against itself: nothing but winning tells it how to play. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"

const game = fileURLToPath(new URL("../../../../examples/18-self-play.ts", import.meta.url))

describe("atropos up, with both seats of a game", () => {
  it.live("comes from play at random to one that a perfect opponent wins less against", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const small = ["--steps", "30", "--batch_size", "96", "--lr", "1e-3"]
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", game, ...small]
      const { code, stderr } = yield* Bin.run(words, { cwd })
      assert.strictEqual(code, 0, stderr)
      const lines = readFileSync(join(cwd, ".atropos/up/kuhn-poker-1/kuhn-poker.metrics.jsonl"), "utf8")
      const curve = lines
        .trim()
        .split("\n")
        .map((line) => Number(JSON.parse(line).exploitability))
      // From 0.46 to 0.32, from 0.60 to 0.33 and from 0.56 to 0.32 with three seeds.
      assert.isAbove(curve[0]!, 0.4)
      assert.isBelow(curve.at(-1)!, 0.8 * curve[0]!)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
