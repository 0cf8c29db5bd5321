/** A small model made from scratch learns a data set of reasoning-gym through the bridge, from its scores alone. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { having, interpreter } from "../../../core/test/Python.ts"
import * as Bin from "../Bin.ts"

const { absence, isPresent } = having("reasoning_gym")

describe.runIf(isPresent)(`atropos up on reasoning-gym${absence}`, () => {
  it.live("count_bits: from less than half right to nearly all, on held-out items too", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* Bin.run(
        [
          ["up", "--env", "reasoning-gym", "--env.python", interpreter, "--model", "scratch"],
          ["--env.dataset", "count_bits", "--env.config", '{"min_n": 1, "max_n": 15}', "--env.instructions", ""],
          ["--lr", "3e-3", "--loss.kl_coef", "0.2", "--training_steps", "100", "--seed", "0"],
          ["--port", "0", "--policy_port", "0"]
        ].flat(),
        { cwd: yield* Bin.folder }
      )
      assert.strictEqual(code, 0, stderr)
      const [, start, end] = /mean reward\s+(\d\.\d+) at the start, (\d\.\d+) at the end/.exec(stdout) ?? []
      assert.isBelow(Number(start), 0.55, stdout)
      assert.isAbove(Number(end), 0.85, stdout)
      const [, before, after] = /held-out items solved\s+(\d+)\.\d% .* before, (\d+)\.\d%/.exec(stdout) ?? []
      assert.isAbove(Number(after), Number(before) + 15, stdout)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
