import { assert, describe, it } from "@effect/vitest"
import { type Batch, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Option } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { plain } from "./SampleGroups.ts"
import * as TestPostgres from "./TestPostgres.ts"

const program = fileURLToPath(new URL("ServiceProcess.ts", import.meta.url))

/** A service in a process of its own, killed at the end; its address. */
const serviceProcess = (database: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--conditions=atropos-src", program], {
        env: { ...process.env, DATABASE_URL: database },
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ).pipe(
    Effect.flatMap((child) =>
      Effect.callback<string>((resume) => {
        createInterface(child.stdout).once("line", (line) => resume(Effect.succeed(line)))
        child.once("exit", (code) => resume(Effect.die(new Error(`the service ended at its start with ${code}`))))
      })
    )
  )

const clientOf = (url: string) =>
  Effect.flatMap(Layer.build(Layer.fresh(TrajectoryClientHttp.layer({ url, run: "shared" }))), (context) =>
    Effect.provide(TrajectoryClient.all, context)
  )

const batchSize = 8
const groupSizes = [1, 2, 4, 8, 2, 1, 4, 2]
const groupsPerProducer = 40

// The embedded database belongs to one process: this takes a server.
describe.skipIf(TestPostgres.serverUrl === undefined)("two services on one database", () => {
  it.live("hand out every group once, in steps without gaps", () =>
    Effect.gen(function* () {
      const database = yield* TestPostgres.freshDatabase
      const first = yield* serviceProcess(database)
      const second = yield* serviceProcess(database)
      const [one, two] = [yield* clientOf(first), yield* clientOf(second)]
      yield* one.registerRun({
        name: "shared",
        batchSize,
        maxTokenLength: 64,
        startingStep: 100,
        numSteps: 1000,
        checkpointDir: "",
        saveCheckpointInterval: 1,
        wandbGroup: "",
        wandbProject: ""
      })
      yield* two.claim({ owner: "trainer", wait: 0, lease: "1 minute" })
      const registrations = yield* Effect.forEach(groupSizes, (groupSize, index) =>
        Effect.flatMap(
          (index % 2 === 0 ? one : two).registerEnvironment({
            desiredName: `size${groupSize}`,
            weight: 1,
            groupSize,
            maxTokenLength: 64,
            minBatchAllocation: null
          }),
          Effect.fromOption
        )
      )
      assert.deepStrictEqual(
        registrations.map(({ envId }) => envId),
        groupSizes.map((_, index) => index)
      )

      // The first score of a group is its number among all that were sent.
      const produce = (size: number, index: number) =>
        Effect.forEach(
          Array.from({ length: groupsPerProducer }, (_, n) => index * groupsPerProducer + n),
          (number) => {
            const group = { ...plain(size), scores: new Float64Array(size).fill(number) }
            const submission = [{ key: crypto.randomUUID(), group }]
            // Both services get every submission: one stores it, the other finds its key.
            return Effect.all([one.submit(index, submission), two.submit(index, submission)], { concurrency: 2 })
          }
        )
      const sequences = groupSizes.reduce((sum, size) => sum + size * groupsPerProducer, 0)
      const taken: Array<Batch.Batch> = []
      const consume = Effect.fnUntraced(function* (client: TrajectoryClient.TrajectoryClient, owner: string) {
        while (taken.length < sequences / batchSize) {
          const found = yield* client.claim({ owner, wait: "200 millis", lease: "1 minute" })
          if (Option.isNone(found)) continue
          taken.push(found.value)
          yield* client.ack(found.value)
        }
      })
      const consumers = [consume(one, "a"), consume(two, "b"), consume(two, "c")]
      const [outcomes] = yield* Effect.all(
        [
          Effect.forEach(groupSizes, produce, { concurrency: "unbounded" }),
          Effect.all(consumers, { concurrency: "unbounded" })
        ],
        { concurrency: "unbounded" }
      )

      for (const pair of outcomes.flat()) {
        assert.sameMembers(
          pair.map(([outcome]) => outcome?.status),
          ["duplicate", "received"]
        )
      }
      assert.deepStrictEqual(
        taken.map(({ step }) => step).toSorted((a, b) => a - b),
        Array.from({ length: sequences / batchSize }, (_, n) => 101 + n)
      )
      for (const { deliveries, groups } of taken) {
        assert.strictEqual(deliveries, 1)
        assert.strictEqual(
          groups.reduce((sum, { tokens }) => sum + tokens.length, 0),
          batchSize
        )
      }
      const numbers = taken.flatMap(({ groups }) => groups.map(({ scores }) => scores[0]!))
      assert.deepStrictEqual(
        numbers.toSorted((a, b) => a - b),
        Array.from({ length: groupSizes.length * groupsPerProducer }, (_, n) => n)
      )
    }).pipe(Effect.scoped)
  )
})
