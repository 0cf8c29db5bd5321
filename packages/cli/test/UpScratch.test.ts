/**
 * `atropos up` from scratch. `nightly/UpScratchLines.test.ts` trains environments of one's own, alone and several, and
 * stops one that cannot be solved; `nightly/UpScratch.test.ts` shows what they learn.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Bin from "./Bin.ts"
import { solvedIn, up } from "./UpRun.ts"

describe("atropos up, from scratch", () => {
  it.live("earns more and more, without a flag that names its task", () =>
    Effect.gen(function* () {
      const small = ["--env.letters", "3", "--env.evaluation_items", "32"]
      const { code, stderr, stdout } = yield* up(yield* Bin.folder, "--steps", "12", "--seed", "3", ...small)
      assert.strictEqual(code, 0, stderr)
      const [before, after] = solvedIn(stdout)
      // From 9% to 63%, 72% and 75% with three seeds.
      assert.isAbove(after, before + 30, stdout)
      const [, first, last] = /mean reward +(\S+) at the start, (\S+) at the end/.exec(stdout) ?? []
      assert.isAbove(Number(last), Number(first), stdout)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
