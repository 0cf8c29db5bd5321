import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as MemoryTrajectoryClient from "../src/MemoryTrajectoryClient.ts"
import { claim, folder, itemOf, layerParts, numbers, settle, start } from "./rollout/RolloutTest.ts"

describe("Rollout", () => {
  it.effect("fills exact batches in the order of the items", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      const spoolDirectory = yield* folder
      const environment = yield* numbers()
      const running = yield* start(environment, client, { spoolDirectory })
      yield* settle
      const batch = yield* claim(client)
      assert.deepStrictEqual(batch?.groups.map(itemOf), [0, 1, 2, 3])
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )
})
