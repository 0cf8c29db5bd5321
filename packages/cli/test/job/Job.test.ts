import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, FileSystem, Option, Path, Schema, Stream } from "effect"
import * as FullDisk from "../FullDisk.ts"
import * as Destination from "../../src/job/Destination.ts"
import * as Job from "../../src/job/Job.ts"
import * as ResumableFile from "../../src/job/ResumableFile.ts"
import * as Tally from "../../src/job/Tally.ts"

class NoLuck extends Schema.TaggedError<NoLuck>()("NoLuck", { message: Schema.String }) {}

const madeBy = { environment: "numbers" }

interface Run {
  readonly path: string
  readonly target?: number
  readonly count?: number
  readonly workers?: number
  readonly items?: (cursor: number) => Stream.Stream<number, NoLuck>
  readonly roll?: (item: number) => Effect.Effect<Job.ItemResult, NoLuck>
}

const result = (item: number): Job.ItemResult => ({
  lines: [String(item)],
  tally: Tally.ofGroup({ scores: [1], passes: 1, trainedTokens: 1, tokens: 1 }),
  counts: true
})

/** One run of the numbers 0, 1, …, as a command does it: find the file, go on from its checkpoint. */
const run = Effect.fnUntraced(function* ({
  count = 1000,
  items = (cursor) => Stream.range(cursor, count - 1),
  path,
  roll = (item) => Effect.succeed(result(item)),
  target,
  workers = 4
}: Run) {
  const destination = yield* Destination.find(path, madeBy, { resume: true })
  const file = yield* ResumableFile.open(destination.path, madeBy, destination.checkpoint)
  const outcome = yield* Job.run({
    items,
    label: String,
    roll,
    workers,
    timeoutSeconds: 0,
    target,
    file,
    from: destination.checkpoint,
    onProgress: () => Effect.void,
    isFruitful: ({ scores: [scored] }) => scored > 0
  })
  if (outcome.nothing !== undefined) return yield* new NoLuck({ message: outcome.nothing })
  return { ...outcome, path: destination.path, repairedBytes: file.repairedBytes }
}, Effect.scoped)

const folder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return path.join(yield* fs.makeTempDirectoryScoped(), "numbers.jsonl")
})

const linesOf = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(path)
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map(Number)
    .sort((a, b) => a - b)
})

/** Gives nothing that could be written. */
const dropping = (item: number) =>
  Effect.succeed<Job.ItemResult>({
    lines: [],
    tally: { ...Tally.empty, dropped: { not_finite: 1 } },
    counts: true,
    whyDropped: `it has NaN (${item})`
  })

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

describe("Job", () => {
  it.effect("writes each item once over as many runs as it takes", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* run({ path, target: 10 })
      const second = yield* run({ path, target: 25 })
      assert.strictEqual(second.tally.items, 25)
      assert.deepStrictEqual(yield* linesOf(path), upTo(25))
      const third = yield* run({ path, target: 25 })
      assert.strictEqual(third.tally.items, 25)
      assert.deepStrictEqual(yield* linesOf(path), upTo(25))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("ends when there are no more items", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const { tally } = yield* run({ path, count: 7, target: 100 })
      assert.strictEqual(tally.items, 7)
      assert.deepStrictEqual(yield* linesOf(path), upTo(7))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect(
    "cuts off what lies behind the checkpoint, half a line or whole ones, and rolls those items out again",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder
        yield* run({ path, target: 5 })
        const behind = '99\n{"half'
        yield* fs.writeFileString(path, behind, { flag: "a" })
        const again = yield* run({ path, target: 8 })
        assert.strictEqual(again.repairedBytes, behind.length)
        assert.deepStrictEqual(yield* linesOf(path), upTo(8))
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("refuses a file that is shorter than its checkpoint says", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder
      yield* run({ path, target: 5 })
      yield* fs.writeFileString(path, "0\n")
      const error = yield* Effect.flip(run({ path, target: 8 }))
      assert.include(error.message, "truncated")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("keeps what was finished when it is interrupted", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const reached = yield* Deferred.make<void>()
      const roll = (item: number) =>
        item < 6 ? Effect.succeed(result(item)) : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(run({ path, roll, workers: 1 }))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* linesOf(path), upTo(6))
      yield* run({ path, target: 12 })
      assert.deepStrictEqual(yield* linesOf(path), upTo(12))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("puts another item in the place of a failed one, and tries it again in the next run", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const roll = (item: number) =>
        item % 3 === 0 ? Effect.fail(new NoLuck({ message: "no luck" })) : Effect.succeed(result(item))
      const first = yield* run({ path, target: 4, roll, workers: 1 })
      assert.strictEqual(first.failures, 2)
      assert.deepStrictEqual(first.reasons, ["no luck (item 0 and 1 more)"])
      assert.deepStrictEqual(yield* linesOf(path), [1, 2, 4, 5])
      yield* run({ path, target: 6 })
      assert.deepStrictEqual(yield* linesOf(path), [0, 1, 2, 3, 4, 5])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("says on a full disk how to continue, and continues", () =>
    Effect.gen(function* () {
      const path = yield* folder
      // Room for a few checkpoints.
      const disk = { left: 2000 }
      const error = yield* Effect.flip(run({ path, workers: 1, target: 10 })).pipe(Effect.provide(FullDisk.layer(disk)))
      assert.match(error.message, /disk is full.*What is finished is kept: run the same command again to continue/)
      yield* run({ path, target: 10 })
      assert.deepStrictEqual(yield* linesOf(path), upTo(10))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("fails once its file was removed or replaced, since what it writes then is lost", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      for (const change of ["remove", "replace"] as const) {
        const path = yield* folder
        const roll = (item: number) =>
          (item === 3 ? Effect.orDie(fs.remove(path)) : Effect.void).pipe(
            Effect.andThen(
              item === 3 && change === "replace" ? Effect.orDie(fs.writeFileString(path, "another\n")) : Effect.void
            ),
            Effect.as(result(item))
          )
        const error = yield* Effect.flip(run({ path, workers: 1, target: 10, roll }))
        assert.include(error.message, `${path} was removed or replaced while this run wrote it`)
        if (change === "replace") assert.strictEqual(yield* fs.readFileString(path), "another\n")
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("gives up when nothing but failures comes, naming the last, its item and the file", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const roll = (item: number) =>
        item === 0 ? Effect.succeed(result(item)) : Effect.fail(new NoLuck({ message: "server is dead" }))
      const exit = yield* Effect.exit(run({ path, workers: 1, roll }))
      assert.isTrue(Exit.isFailure(exit))
      const error = yield* Effect.flip(exit)
      assert.match(error.message, /the last error: server is dead \(item \d+\)\. Finished groups are in /)
      assert.include(error.message, path)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("gives up when nothing comes that counts, naming why", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const error = yield* Effect.flip(
        run({
          path,
          count: 5_000,
          target: 3,
          roll: (item) =>
            Effect.succeed(
              item === 7
                ? result(item)
                : { lines: [], tally: { ...Tally.empty, dropped: { unscorable: 1 } }, counts: false }
            )
        })
      )
      assert.match(error.message, /^1000 consecutive items gave no group: .* \(unscorable 10\d\d\)/)
      assert.deepStrictEqual(yield* linesOf(path), [7])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("leaves files of other settings alone and takes the next free name", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* run({ path, target: 3 })
      const found = yield* Destination.find(path, { environment: "letters" }, { resume: true })
      assert.strictEqual(found.path, path.replace(".jsonl", "_1.jsonl"))
      assert.isTrue(Option.isNone(found.checkpoint))
      assert.include(found.notes.join(), 'environment was "numbers", is "letters"')
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("has one owner: a second run is refused with the first one's process id, under any name of the file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder
      const linked = `${yield* fs.makeTempDirectoryScoped()}/link`
      yield* fs.symlink(path.slice(0, path.lastIndexOf("/")), linked)
      const started = yield* Deferred.make<void>()
      const roll = (item: number) =>
        item === 0 ? Effect.succeed(result(item)) : Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const first = yield* Effect.forkChild(run({ path, roll, workers: 2 }))
      yield* Deferred.await(started)
      for (const name of [path, `${linked}/numbers.jsonl`]) {
        const error = yield* Effect.flip(run({ path: name, target: 5 }))
        assert.include(error.message, `${name} is being written by another process (id ${process.pid})`)
      }
      yield* Fiber.interrupt(first)
      yield* run({ path, target: 5 })
      assert.deepStrictEqual(yield* linesOf(path), upTo(5))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("leaves nothing behind when nothing came, and says what became of the first item", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder
      const error = yield* Effect.flip(run({ path, target: 3, roll: dropping, workers: 1 }))
      assert.strictEqual(
        error.message,
        "no output: all groups were dropped (not_finite 3). The first was item 0: it has NaN (0)"
      )
      assert.deepStrictEqual(yield* fs.readDirectory(path.slice(0, path.lastIndexOf("/"))), [])
      const { path: again } = yield* run({ path, target: 3 })
      assert.strictEqual(again, path)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("is not gone on with once it came to its end, though items of it failed", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const roll = (item: number) =>
        item === 1 ? Effect.fail(new NoLuck({ message: "no luck" })) : Effect.succeed(result(item))
      yield* run({ path, count: 3, roll })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { checkpoint } = yield* Destination.find(path, madeBy, { resume: true })
          yield* (yield* ResumableFile.open(path, madeBy, checkpoint)).finish
        })
      )
      const next = yield* run({ path, count: 3 })
      assert.strictEqual(next.path, path.replace(".jsonl", "_1.jsonl"))
      assert.deepStrictEqual(yield* linesOf(path), [0, 2])
      assert.deepStrictEqual(yield* linesOf(next.path), [0, 1, 2])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("finishes and keeps what was taken before its items ended with an error, and continues from there", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const gone = new NoLuck({ message: "database gone" })
      const items = (cursor: number) => Stream.concat(Stream.range(cursor, 4), Stream.fail(gone))
      const failed = yield* Effect.flip(
        run({ path, items, workers: 8, roll: (item) => Effect.as(Effect.yieldNow, result(item)) })
      )
      assert.include(failed.message, "database gone")
      assert.include(failed.message, `Finished groups are in ${path}`)
      assert.deepStrictEqual(yield* linesOf(path), [0, 1, 2, 3, 4])
      yield* run({ path, count: 7 })
      assert.deepStrictEqual(yield* linesOf(path), [0, 1, 2, 3, 4, 5, 6])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("fails where there are no items", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(run({ path: yield* folder, count: 0 }))
      assert.strictEqual(error.message, "no output: the environment has no items")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
