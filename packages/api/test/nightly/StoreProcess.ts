/**
 * A separate process on a database, for tests that kill it. Prints the store's answers, one line each, immediately, and
 * dies at one of its points: submit, claim (of a batch) or ack.
 *
 *     node StoreProcess.ts write  <pglite folder | postgres URL> <run> <name> <kill point>
 *         stored <key>
 *     node StoreProcess.ts train  <pglite folder | postgres URL> <run> <name> <kill point>
 *         claimed <step> <deliveries> <texts>; acked <step>
 */
import { Effect, Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import * as Say from "../../../core/test/base/Say.ts"
import { flushCompileCache } from "node:module"
import * as KillPoint from "../../../core/test/base/KillPoint.ts"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"

// Usually written when a process exits, which these never do.
flushCompileCache()

const [, , mode, place = "", run = "", name = "", killPoint = ""] = process.argv
const { around, reach } = KillPoint.make(killPoint)

const say = (line: string) => Effect.sync(() => Say.line(line))

const database = place.startsWith("postgres://")
  ? Database.layerPostgres(Redacted.make(place), { maxConnections: 4 })
  : Database.layerPglite(place)

const write = Effect.gen(function* () {
  const store = yield* TrajectoryStore.TrajectoryStore
  yield* store.registerRun({
    name: run,
    batchSize: 16,
    maxTokenLength: 512,
    startingStep: 3,
    numSteps: 100,
    checkpointDir: "",
    saveCheckpointInterval: 0,
    wandbGroup: "",
    wandbProject: ""
  })
  yield* store.start(run)
  let sent = 0
  const send = Effect.gen(function* () {
    const key = randomUUID()
    const sequences = [2, 4, 8][sent++ % 3]!
    const group = {
      sequences,
      tokens: sequences,
      scores: Array.from({ length: sequences }, () => 1),
      envId: null,
      policyStep: null,
      key,
      payload: {
        format: "json" as const,
        bytes: Buffer.from(JSON.stringify({ text: key, filling: randomUUID().repeat(50) }))
      }
    }
    const [outcome] = yield* around("submit", store.submit(run, [group]))
    if (outcome?.status === "received") yield* say(`stored ${key}`)
  })
  yield* Effect.all(
    Array.from({ length: 8 }, () => Effect.forever(send)),
    { concurrency: "unbounded" }
  )
})

const train = Effect.gen(function* () {
  const store = yield* TrajectoryStore.TrajectoryStore
  const decoder = new TextDecoder()
  const claim = store.claim(run, { owner: name, lease: "2 seconds" })
  for (;;) {
    const batch = yield* Effect.fromOption(yield* Waits.until("a batch", claim, Option.isSome))
    reach("after claim")
    const texts = batch.groups.map(
      ({ payload }) => (JSON.parse(decoder.decode(payload.bytes)) as { text: string }).text
    )
    yield* say(`claimed ${batch.step} ${batch.deliveries} ${texts.join(",")}`)
    yield* around("ack", store.ack(batch)).pipe(
      Effect.andThen(say(`acked ${batch.step}`)),
      // On a busy machine it took longer than the lease: the batch is redelivered.
      Effect.catchTag("LeaseLost", () => say(`lost ${batch.step}`))
    )
  }
})

const program: Effect.Effect<void, unknown, TrajectoryStore.TrajectoryStore> = mode === "write" ? write : train
await Effect.runPromise(program.pipe(Effect.provide(PgTrajectoryStore.layer.pipe(Layer.provide(database)))))
