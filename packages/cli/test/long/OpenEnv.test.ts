/**
 * The Python package `openenv` plays on `atropos openenv`. nightly/OpenEnv.test.ts calls tools, and trains: `atropos
 * up` on a server of the package, TRL on ours.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { having } from "../../../core/test/Python.ts"
import { file, python, served } from "./OpenEnvServed.ts"

const openEnv = having("openenv")

const Clients = Schema.Struct({
  clients: Schema.Array(Schema.Record(Schema.String, Schema.Tuple([Schema.Finite, Schema.Int]))),
  wrong: Schema.String,
  full: Schema.String
})

describe.skipIf(!openEnv.isPresent)(`OpenEnv${openEnv.absence}`, () => {
  it.live("has Python's client play a hundred episodes on ours, four at a time: the same seed, the same hand", () =>
    Effect.gen(function* () {
      const url = yield* served("--env", "blackjack", "--sessions", "4")
      const { clients, full, wrong } = yield* python(file("python/openenv_client.py"), Clients, url, "100")
      assert.strictEqual(
        clients.reduce((sum, played) => sum + Object.keys(played).length, 0),
        100
      )
      assert.deepStrictEqual(clients[0], clients[1])
      assert.deepStrictEqual(clients[2], clients[3])
      const rewards = clients.flatMap((played) => Object.values(played).map(([reward]) => reward))
      assert.deepStrictEqual(new Set(rewards.map(Math.sign)), new Set([-1, 0, 1]))
      assert.include(wrong, "VALIDATION_ERROR")
      assert.include(full, "CAPACITY_REACHED")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
