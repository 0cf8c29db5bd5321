/** TRL's `GRPOTrainer` plays on `atropos openenv` by `environment_factory`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { having } from "../../../core/test/Python.ts"
import * as Bin from "../Bin.ts"
import { file, python, served } from "../long/OpenEnvServed.ts"

const trl = having("openenv", "trl", "torch")

const Trained = Schema.Struct({
  steps: Schema.Int,
  logs: Schema.Array(Schema.Record(Schema.String, Schema.Finite)),
  rewards: Schema.Array(Schema.Finite),
  change: Schema.Finite
})

describe.skipIf(!trl.isPresent)(`OpenEnv${trl.absence}`, () => {
  it.live("has TRL train five steps on ours by environment_factory", () =>
    Effect.gen(function* () {
      const url = yield* served("--env", "blackjack")
      const trained = yield* python(file("python/openenv_trl.py"), Trained, url, yield* Bin.folder)
      assert.strictEqual(trained.steps, 5)
      assert.lengthOf(trained.logs, 5)
      assert.isAbove(trained.change, 0)
      // A game that the policy left is worth 0 to TRL, and nothing to the server.
      const logged = trained.logs.reduce((sum, log) => sum + 8 * log["reward"]!, 0)
      assert.closeTo(
        logged,
        trained.rewards.reduce((sum, reward) => sum + reward, 0),
        1e-4
      )
      assert.isAbove(trained.rewards.length, 10)
      assert.isTrue(trained.logs.some((log) => log["reward_std"]! > 0))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
