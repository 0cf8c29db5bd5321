import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, PlatformError } from "effect"
import * as Spool from "../../../src/rollout/submit/Spool.ts"
import type { Spooled } from "../../../src/rollout/submit/SpoolRecord.ts"
import { folder, group } from "../RolloutTest.ts"

const entry = (index: number): Spooled => ({
  delivery: { index, key: `key-${index}`, group: group(index) },
  closes: true
})
const options = { maxBytes: 100_000, lineage: "one" }

describe("Spool", () => {
  it.effect("gives back what it got, in order, over segments and restarts", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const first = yield* Spool.make({ ...options, directory, segmentBytes: 500 })
      for (const index of [0, 1, 2, 3, 4, 5, 6]) yield* first.append([entry(index)])
      assert.strictEqual((yield* first.peek)[0]?.index, 0)
      yield* first.commit(1)
      const second = yield* Spool.make({ ...options, directory, segmentBytes: 500 })
      // A segment whose groups were sent in part is read again whole: the keys make that harmless.
      assert.strictEqual(second.size(), 7)
      assert.deepStrictEqual(second.recovered[6], { index: 6, closes: true })
      yield* second.append([entry(7)])
      const seen: Array<number> = []
      while (second.size() > 0) {
        const deliveries = yield* second.peek
        assert.deepStrictEqual(deliveries[0]?.group.tokens, group(deliveries[0]!.index).tokens)
        seen.push(...deliveries.map(({ index }) => index))
        yield* second.commit(deliveries.length)
      }
      assert.deepStrictEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7])
      const fs = yield* FileSystem.FileSystem
      assert.deepStrictEqual(yield* fs.readDirectory(directory), [])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("ends a segment at a torn record, as a crash leaves it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      const spool = yield* Spool.make({ ...options, directory })
      yield* spool.append([entry(0), entry(1)])
      const [name] = yield* fs.readDirectory(directory)
      yield* fs.truncate(`${directory}/${name}`, spool.bytes() - 5)
      const again = yield* Spool.make({ ...options, directory })
      assert.deepStrictEqual(
        (yield* again.peek).map(({ index }) => index),
        [0]
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("leaves groups of another run aside", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      const spool = yield* Spool.make({ ...options, directory })
      yield* spool.append([entry(0)])
      const other = yield* Spool.make({ ...options, directory, lineage: "two" })
      assert.strictEqual(other.size(), 0)
      assert.match((yield* fs.readDirectory(directory))[0]!, /\.spool\.stale$/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("refuses what exceeds its limit, all or nothing", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const spool = yield* Spool.make({ ...options, directory, maxBytes: 1000 })
      yield* spool.append([entry(0)])
      const before = spool.bytes()
      const error = yield* Effect.flip(spool.append([entry(1), entry(2), entry(3)]))
      assert.isTrue(error.isFull)
      assert.match(error.message, /of 1000 bytes/)
      assert.strictEqual(spool.bytes(), before)
      assert.strictEqual(spool.size(), 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("on a full disk says so and keeps what it has", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      let isFull = false
      const full = Effect.fail(
        PlatformError.systemError({
          _tag: "Unknown",
          module: "FileSystem",
          method: "write",
          cause: Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
        })
      )
      // A disk on which writing stops half-way.
      const disk = FileSystem.FileSystem.of({
        ...fs,
        open: (path, options) =>
          Effect.map(fs.open(path, options), (file) => ({
            ...file,
            writeAll: (bytes: Uint8Array) =>
              isFull ? Effect.andThen(file.writeAll(bytes.subarray(0, 20)), full) : file.writeAll(bytes),
            sync: file.sync
          }))
      })
      const spool = yield* Spool.make({ ...options, directory }).pipe(
        Effect.provideService(FileSystem.FileSystem, disk)
      )
      yield* spool.append([entry(0)])
      isFull = true
      const error = yield* Effect.flip(spool.append([entry(1)]))
      assert.isTrue(error.isFull)
      assert.match(error.message, /no space left on device.*Free disk space/)
      isFull = false
      yield* spool.append([entry(2)])
      assert.deepStrictEqual(
        (yield* spool.peek).map(({ index }) => index),
        [0, 2]
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("begins another segment behind a torn record that cannot be cut off", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      let isBroken = false
      const broken = Effect.fail(PlatformError.systemError({ _tag: "Unknown", module: "File", method: "write" }))
      const disk = FileSystem.FileSystem.of({
        ...fs,
        truncate: (path, length) => (isBroken ? broken : fs.truncate(path, length)),
        open: (path, options) =>
          Effect.map(fs.open(path, options), (file) => ({
            ...file,
            sync: file.sync,
            writeAll: (bytes: Uint8Array) =>
              isBroken ? Effect.andThen(file.writeAll(bytes.subarray(0, 20)), broken) : file.writeAll(bytes)
          }))
      })
      const spool = yield* Spool.make({ ...options, directory }).pipe(
        Effect.provideService(FileSystem.FileSystem, disk)
      )
      yield* spool.append([entry(0)])
      isBroken = true
      yield* Effect.flip(spool.append([entry(1)]))
      isBroken = false
      yield* spool.append([entry(2)])
      const restarted = yield* Spool.make({ ...options, directory })
      assert.deepStrictEqual(
        restarted.recovered.map(({ index }) => index),
        [0, 2]
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("leaves no files behind where nothing could be written", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      const full = FileSystem.FileSystem.of({
        ...fs,
        open: (path, options) =>
          Effect.map(fs.open(path, options), (file) => ({
            ...file,
            writeAll: () => Effect.fail(PlatformError.systemError({ _tag: "Unknown", module: "File", method: "write" }))
          }))
      })
      const spool = yield* Spool.make({ ...options, directory }).pipe(
        Effect.provideService(FileSystem.FileSystem, full)
      )
      const first = yield* Effect.flip(spool.append([entry(0)]))
      const second = yield* Effect.flip(spool.append([entry(0)]))
      assert.strictEqual(second.message, first.message)
      assert.deepStrictEqual(yield* fs.readDirectory(directory), [])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("leaves a file aside that it cannot read", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* folder
      yield* fs.writeFileString(`${directory}/00000001-x.spool`, "not what it should be")
      yield* fs.writeFileString(`${directory}/00000002-x.spool`, "")
      const spool = yield* Spool.make({ ...options, directory })
      assert.strictEqual(spool.size(), 0)
      assert.deepStrictEqual(yield* fs.readDirectory(directory), ["00000001-x.spool.damaged"])
      yield* spool.append([entry(0)])
      assert.strictEqual(spool.size(), 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
