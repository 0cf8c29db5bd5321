/**
 * `atropos up` from scratch on environments of one's own, alone and several, and the lines it prints for what it
 * trained. What they learn, `nightly/UpScratch.test.ts` shows.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"

const neverRight = fileURLToPath(new URL("fixtures/never-right.ts", import.meta.url))

const up = (cwd: string, ...words: ReadonlyArray<string>) =>
  Bin.run(["up", "--port", "0", "--policy_port", "0", ...words], { cwd })

/** Percent of the held-out items before and after, of one environment where there are several. */
const solvedIn = (stdout: string, environment = ""): readonly [number, number] => {
  const line = new RegExp(`${environment}\\D*(\\d+\\.\\d)% \\(.* before, (\\d+\\.\\d)% \\(.* after`).exec(
    stdout.slice(stdout.indexOf("held-out items solved"))
  )
  return [Number(line?.[1]), Number(line?.[2])]
}

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

  it.live("ends by a rule of its health that looks at the environment, if it was told to", () =>
    Effect.gen(function* () {
      const words = ["--env", neverRight, "--stop_on", "collapse,stuck"]
      const { code, stderr, stdout } = yield* up(yield* Bin.folder, ...words)
      assert.strictEqual(code, 3, stdout)
      assert.match(
        stderr,
        /^atropos: stopped by stop_on\. Environment stuck \(stuck\): 100% of .* Their mean score is 0\.$/m
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
