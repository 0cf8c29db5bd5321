/** `atropos up` from scratch learns environments of one's own, with a recipe and without. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

const up = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const ports = ["--port", "0", "--policy_port", "0", "--steps", "40"]
  const { code, stderr, stdout } = yield* Bin.run(["up", ...ports, ...words], { cwd: yield* Bin.folder })
  assert.strictEqual(code, 0, stderr)
  return stdout
})

describe("atropos up, from scratch", () => {
  it.live("learns an environment of one's own by --model scratch", () =>
    Effect.gen(function* () {
      const small = ["--batch_size", "64", "--lr", "2e-3", "--seed", "1"]
      const stdout = yield* up("--env", fixture("larger.ts"), "--model", "scratch", ...small)
      const [, before, after] =
        /held-out items solved\D*(\d+\.\d)% \(.* before, (\d+\.\d)% \(.* after/.exec(stdout) ?? []
      // From 44% to 70%, from 48% to 76% and to 84% with three seeds.
      assert.isAbove(Number(after), Number(before) + 10, stdout)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("learns by the recipe that a file exports", () =>
    Effect.gen(function* () {
      const stdout = yield* up("--env", fixture("with-recipe.ts"))
      const [, first, last] = /mean reward +(\S+) at the start, (\S+) at the end/.exec(stdout) ?? []
      // From 0.3 to 0.65, 0.64 and 0.70 with three seeds.
      assert.isAbove(Number(last), Number(first) + 0.1, stdout)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
