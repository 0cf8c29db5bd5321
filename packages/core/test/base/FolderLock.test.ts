import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as FolderLock from "../../src/base/system/FolderLock.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const isRoot = process.getuid?.() === 0

/** As a user whom the permissions of files concern. */
const asNobody = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => isRoot && process.seteuid?.(65_534)),
    () => effect,
    () => Effect.sync(() => isRoot && process.seteuid?.(0))
  )

layer(NodeServices.layer, { excludeTestServices: true })("FolderLock", (it) => {
  it.effect("is held by one at a time, until its scope closes", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const error = yield* Effect.scoped(
        Effect.andThen(FolderLock.hold(target), Effect.flip(Effect.scoped(FolderLock.hold(target))))
      )
      assert.deepInclude(error, { isHeld: true, holder: process.pid })
      assert.include(error.message, target)
      yield* FolderLock.hold(target)
    })
  )

  it.effect("is one lock however the folder is written, and as long as its path may be", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const target = join(yield* folder, "deep".repeat(40))
      yield* fs.makeDirectory(target)
      yield* FolderLock.hold(target)
      const link = join(yield* folder, "link")
      yield* fs.symlink(target, link)
      for (const same of [join(target, "..", "deep".repeat(40), "."), link]) {
        assert.isTrue((yield* Effect.flip(FolderLock.hold(same))).isHeld)
      }
    })
  )

  it.effect("tells a folder that is not there from one that is in use", () =>
    Effect.gen(function* () {
      const { join } = yield* Path.Path
      const error = yield* Effect.flip(FolderLock.hold(join(yield* folder, "missing")))
      assert.isFalse(error.isHeld)
      assert.include(error.message, "missing")
    })
  )

  it.effect("does not take a folder for free whose lock is no lock", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const target = yield* folder
      yield* fs.writeFileString(join(target, "lock.sqlite"), "1234\n".repeat(100))
      const error = yield* Effect.flip(FolderLock.hold(target))
      assert.isFalse(error.isHeld)
      assert.strictEqual(error.message, `cannot lock the folder ${target}: file is not a database`)
    })
  )

  it.effect("is nobody's who may only read it: any number of such would have it, beside its holder", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const target = yield* folder
      yield* fs.chmod(target, 0o755)
      yield* Effect.scoped(FolderLock.hold(target))
      yield* fs.chmod(join(target, "lock.sqlite"), 0o444)
      const error = yield* Effect.flip(asNobody(FolderLock.hold(target)))
      assert.isFalse(error.isHeld)
      assert.include(error.message, `${target}: no write permission for lock.sqlite`)
    })
  )

  it.effect("names nobody where its holder left no sign", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const target = yield* folder
      yield* FolderLock.hold(target)
      yield* fs.remove(join(target, "lock.json"))
      const error = yield* Effect.flip(FolderLock.hold(target))
      assert.deepInclude(error, { isHeld: true, holder: null })
      assert.strictEqual(error.message, `the folder ${target} is in use by a running process`)
      assert.sameMembers(yield* fs.readDirectory(target), ["lock.sqlite"])
    })
  )
})
