/** A trainer that joins another's run is warned, since each would learn from a part of its batches. */
import { TrajectoryClientHttp } from "@atropos/core"
import * as LeaseJournal from "@atropos/trainer/checkpoint/LeaseJournal"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Logger, Option } from "effect"
import * as OtherTrainer from "../../src/train/OtherTrainer.ts"
import * as Groups from "../crash/Groups.ts"
import * as InProcess from "../InProcess.ts"
import * as Service from "../crash/Service.ts"
import * as Trainer from "../crash/Trainer.ts"

const layer = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

/** The warnings of a trainer with checkpoints in `folder`. */
const warnings = (url: string, folder: string) =>
  Effect.suspend(() => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
    return OtherTrainer.warn({ url, run: "default", token: Option.none(), folder }).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.as(logged)
    )
  })

describe("a second trainer of a run", () => {
  it.live("names another trainer that holds batches, but not this one", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { env } = yield* Service.fastest.make
      yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"], { ...env })
      const [, url = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const [first, second] = [yield* fs.makeTempDirectoryScoped(), yield* fs.makeTempDirectoryScoped()]
      assert.deepStrictEqual(yield* warnings(url, first), [])

      const client = yield* TrajectoryClientHttp.make({ url })
      yield* client.registerRun({ ...Trainer.run, checkpointDir: first })
      yield* LeaseJournal.write(first, { firstStep: 1, leases: [] })
      assert.deepStrictEqual(yield* warnings(url, first), [])
      const [begun] = yield* warnings(url, second)
      assert.match(begun!, /this run was begun by another trainer, with other checkpoints/)
      assert.include(begun, first)

      const envId = yield* Trainer.begin(client)
      yield* client.submit(envId, [Groups.keyed(0), Groups.keyed(1)])
      const batch = Option.getOrThrow(yield* client.claim({ owner: "the first", wait: 10, lease: "10 minutes" }))
      const [held] = yield* warnings(url, second)
      assert.match(held!, /another trainer holds batches of this run.*"owner":"the first"/)
      yield* LeaseJournal.write(first, {
        firstStep: 1,
        leases: [{ id: batch.id, step: batch.step, leaseToken: batch.leaseToken }]
      })
      assert.deepStrictEqual(yield* warnings(url, first), [])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
