/** The folders of runs of `up` whose database other folders share. */
import { Database, PgTrajectoryStore, TrajectoryStore } from "@atropos/api"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RunFolder from "../../src/train/RunFolder.ts"

const services = Layer.provideMerge(
  PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())),
  NodeServices.layer
)

const ofToday = (written: unknown) => written

const choose = Effect.fnUntraced(function* (root: string, lr = 1, fresh = false) {
  const store = yield* TrajectoryStore.TrajectoryStore
  return yield* RunFolder.choose({ root, environment: "a+b", identity: { lr }, ofToday, steps: 9, fresh, store })
})

layer(services)("the folder of a run", (it) => {
  it.effect("has a name that no folder and no run of the database has, even where several start at once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const roots = yield* Effect.replicateEffect(fs.makeTempDirectoryScoped(), 3)
      const chosen = yield* Effect.forEach(roots, (root) => choose(root), { concurrency: "unbounded" })
      const names = chosen.map(({ name }) => name)
      assert.sameMembers(names, ["a-b-1", "a-b-2", "a-b-3"])
      assert.deepStrictEqual(
        yield* Effect.forEach(roots, (root) => fs.readDirectory(root)),
        names.map((name) => [name])
      )
      // Each resumes its own, and none another's.
      const again = yield* Effect.forEach(roots, (root) => choose(root))
      assert.deepStrictEqual(
        again.map(({ name }) => name),
        names
      )
      const last = names.indexOf("a-b-3")
      assert.strictEqual((yield* choose(roots[last]!, 2)).name, "a-b-4")
      assert.strictEqual((yield* choose(roots[last]!, 2, true)).name, "a-b-5")
    })
  )

  it.effect("is resumed with another database, unless that has a run of the same name from another folder", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.makeTempDirectoryScoped()
      const { name } = yield* choose(root)
      yield* TestClock.adjust("1 second")
      const empty = Layer.fresh(services)
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* choose(root)).name, name)
        assert.strictEqual((yield* choose(root)).name, name)
      }).pipe(Effect.provide(empty))
      // The folder now belongs to the other database's run.
      assert.notStrictEqual((yield* choose(root)).name, name)
    })
  )
})
