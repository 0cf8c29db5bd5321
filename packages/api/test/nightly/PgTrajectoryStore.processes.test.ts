/** Processes that share a database, and processes that are killed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Redacted, type Scope } from "effect"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type ChildProcess, spawn } from "node:child_process"
import type { KillPoint } from "../../../core/test/base/KillPoint.ts"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import { RolloutReader } from "../../src/store/RolloutReader.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { submission, textOf } from "../store/StoreValues.ts"

interface Running {
  readonly lines: Array<string>
  readonly child: ChildProcess
  /** Resolves when there are `count` lines that begin with `word`. */
  readonly said: (word: string, count: number) => Effect.Effect<void>
  readonly kill: Effect.Effect<void>
  /** Waits until it has killed itself. */
  readonly killed: Effect.Effect<void>
}

/** Starts `StoreProcess.ts`, to be killed at the point where there is one. */
const start = (
  mode: "write" | "train",
  place: string,
  name: string,
  point?: KillPoint
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      const script = fileURLToPath(new URL("StoreProcess.ts", import.meta.url))
      const args = [mode, place, "run", name, ...(point === undefined ? [] : [point])]
      const child = spawn(process.execPath, ["--conditions=atropos-src", script, ...args], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const lines: Array<string> = []
      const closed = once(child, "close")
      const waiters = new Set<() => void>()
      let rest = ""
      const wake = () => {
        for (const check of waiters) check()
      }
      child.stdout.on("data", (bytes) => {
        const parts = (rest + String(bytes)).split("\n")
        rest = parts.pop()!
        lines.push(...parts)
        wake()
      })
      child.once("close", wake)
      const said = (word: string, count: number) =>
        Effect.callback<void>((resume) => {
          const check = () => {
            const isOver = child.exitCode !== null || child.signalCode !== null
            if (!isOver && lines.filter((line) => line.startsWith(word)).length < count) return
            waiters.delete(check)
            resume(Effect.void)
          }
          waiters.add(check)
          check()
        })
      const kill = Effect.promise(async () => {
        child.kill("SIGKILL")
        await closed
      })
      const killed = Effect.promise(async () => {
        await closed
        assert.strictEqual(child.signalCode, "SIGKILL", args.join(" "))
      })
      return { lines, child, said, kill, killed }
    }),
    ({ kill }) => kill
  )

const words = ({ lines }: Running, word: string) =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(" ").slice(1))

const storeAt = (place: string) =>
  PgTrajectoryStore.layer.pipe(
    Layer.provide(
      place.startsWith("postgres://") ? Database.layerPostgres(Redacted.make(place)) : Database.layerPglite(place)
    )
  )

const withStore = <A, E>(place: string, effect: Effect.Effect<A, E, TrajectoryStore.TrajectoryStore | RolloutReader>) =>
  Effect.provide(effect, storeAt(place), { local: true })

const folder = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })).pipe(
  Effect.provide(NodeServices.layer)
)

const places = [
  { name: "PGlite", place: Effect.orDie(folder), isServer: false },
  ...(TestPostgres.serverUrl === undefined
    ? []
    : [{ name: "Postgres", place: Effect.orDie(TestPostgres.freshDatabase), isServer: true }])
]

/** Ids of all that is stored, in queue or in a batch. */
const storedIds = Effect.gen(function* () {
  const reader = yield* RolloutReader
  const ids: Array<string> = []
  for (let before: string | null | undefined; before !== null;) {
    const page = yield* reader.rollouts("run", { limit: 1000, ...(before !== undefined && { before }) })
    ids.push(...page.rows.map(({ id }) => id))
    before = page.next
  }
  return ids
})

/** Sends groups that were answered once more: their outcomes. */
const resubmit = (keys: ReadonlyArray<string>) =>
  TrajectoryStore.TrajectoryStore.use((store) =>
    store.submit(
      "run",
      keys.map((key) => submission(2, null, key, key))
    )
  )

const textsOf = ({ groups }: TrajectoryStore.ClaimedBatch) => groups.map(textOf).join(",")

for (const { name, place } of places) {
  describe(`PgTrajectoryStore on ${name}, killed`, () => {
    it.live("loses no answered submission, stores none twice, and hands a dead trainer's batch out once more", () =>
      Effect.gen(function* () {
        const at = yield* place
        const answered: Array<string> = []
        // The first time it is stored and nobody knows, the second time others are on their way.
        for (const point of ["after submit 100", "before submit 100"] as const) {
          const writer = yield* start("write", at, "writer", point)
          yield* writer.killed
          const stored = words(writer, "stored").map(([key]) => key!)
          assert.isAtLeast(stored.length, 80)
          answered.push(...stored)
        }

        // The embedded database takes one process at a time: the trainer that dies is this one, which never acks.
        const held = yield* withStore(
          at,
          Effect.gen(function* () {
            const stored = yield* storedIds
            assert.isAtLeast(stored.length, answered.length)
            const outcomes = yield* resubmit(answered)
            assert.isTrue(outcomes.every(({ status }) => status === "duplicate"))
            assert.deepStrictEqual(yield* storedIds, stored)
            const store = yield* TrajectoryStore.TrajectoryStore
            return Option.getOrThrow(yield* store.claim("run", { owner: "dead", lease: "1 second" }))
          })
        )
        const successor = yield* start("train", at, "successor")
        yield* successor.said(`claimed ${held.step} `, 1)
        yield* successor.kill
        const claims = words(successor, "claimed").map(([step, deliveries, texts]) => ({
          step: Number(step),
          deliveries: Number(deliveries),
          texts
        }))
        assert.deepStrictEqual(
          claims.filter(({ step }) => step === held.step),
          [{ step: held.step, deliveries: 2, texts: textsOf(held) }]
        )
        // Perhaps the successor came before the lease ran out, and began with new ones.
        const others = claims.filter(({ step }) => step !== held.step)
        assert.deepStrictEqual(
          others.map(({ deliveries, step }) => [step, deliveries]),
          others.map((_, i) => [held.step + 1 + i, 1])
        )
      }).pipe(Effect.scoped)
    )
  })
}

// The embedded database takes one process only.
for (const { place } of places.filter(({ isServer }) => isServer)) {
  describe("PgTrajectoryStore in several processes on one Postgres", () => {
    it.live("puts no group into two batches and numbers steps without gaps while writers and trainers die", () =>
      Effect.gen(function* () {
        const at = yield* place
        // They send some 140 batches, of which the trainers take 65.
        const writers = yield* Effect.all([
          start("write", at, "a", "after submit 160"),
          start("write", at, "b", "before submit 320")
        ])
        yield* Effect.forEach(writers, (writer) => writer.said("stored", 1))
        // Dead with a batch that nobody knows it has, and with one that is acknowledged and not known to be.
        const trainers = yield* Effect.all([
          start("train", at, "c", "after claim 25"),
          start("train", at, "d", "after ack 40")
        ])
        yield* Effect.forEach([...writers, ...trainers], ({ killed }) => killed)
        const claims = trainers.flatMap((trainer) => words(trainer, "claimed"))

        // What the dead trainers held comes out when their leases run out, before anything new.
        const last = yield* withStore(
          at,
          Effect.gen(function* () {
            const store = yield* TrajectoryStore.TrajectoryStore
            const answered = writers.flatMap((writer) => words(writer, "stored").map(([key]) => key!))
            const outcomes = yield* resubmit(answered)
            assert.isTrue(outcomes.every(({ status }) => status === "duplicate"))
            const summary = store.summary("run")
            const idle = yield* Waits.until("the end of leases", summary, ({ leasedBatches }) => leasedBatches === 0)
            return yield* Effect.forEach(Array.from({ length: idle.formedBatches + 3 }), () =>
              Effect.map(store.claim("run", { owner: "last", lease: "60 seconds" }), Option.getOrThrow)
            )
          })
        )
        const seen = new Map<number, string>()
        const take = (step: number, texts: string) => {
          assert.strictEqual(seen.get(step) ?? texts, texts, `step ${step} has changed`)
          seen.set(step, texts)
        }
        for (const [step, , texts] of claims) take(Number(step), texts!)
        for (const batch of last) {
          take(batch.step, textsOf(batch))
          assert.strictEqual(
            batch.groups.reduce((sum, { sequences }) => sum + sequences, 0),
            16
          )
        }
        const steps = [...seen.keys()].toSorted((a, b) => a - b)
        assert.deepStrictEqual(
          steps,
          steps.map((_, i) => i + 4)
        )
        const texts = [...seen.values()].flatMap((joined) => joined.split(","))
        assert.strictEqual(new Set(texts).size, texts.length)
      }).pipe(Effect.scoped)
    )
  })
}
