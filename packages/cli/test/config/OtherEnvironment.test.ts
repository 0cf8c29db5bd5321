/** Two environments of one name in one run: found by both being heard of, which one that was killed is not. */
import { TrajectoryClientHttp } from "@atropos/core"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option } from "effect"
import * as OtherEnvironment from "../../src/config/OtherEnvironment.ts"
import * as InProcess from "../InProcess.ts"
import * as Service from "../crash/Service.ts"
import * as Trainer from "../crash/Trainer.ts"

const layer = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

describe("two environments of one name", () => {
  it.live("are found once both are heard of again, and not while one of them is dead", () =>
    Effect.gen(function* () {
      const { env } = yield* Service.fastest.make
      yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"], { ...env })
      const [, url = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const client = yield* TrajectoryClientHttp.make({ url })
      yield* Trainer.begin(client)
      const register = client.registerEnvironment({
        desiredName: "twice",
        weight: 1,
        groupSize: 4,
        maxTokenLength: 64,
        minBatchAllocation: null
      })
      const [first, second] = [Option.getOrThrow(yield* register).envId, Option.getOrThrow(yield* register).envId]
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
      // What is heard between the looks: the first twice alone, then both.
      const heard = [[first], [first], [first, second]]
      let round = 0
      yield* OtherEnvironment.watch(
        { url, run: "default", token: Option.none(), name: "twice" },
        {
          between: Effect.suspend(() => Effect.forEach(heard[round++]!, client.status)).pipe(
            Effect.orDie,
            Effect.asVoid
          ),
          after: Effect.sync(() => assert.deepStrictEqual(logged, []))
        }
      ).pipe(Effect.provide(Logger.layer([logger])))
      assert.strictEqual(round, 3)
      assert.match(
        logged.join(),
        /another process runs an environment of this name.*"registered":"twice_[01], twice_[01]"/
      )
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
