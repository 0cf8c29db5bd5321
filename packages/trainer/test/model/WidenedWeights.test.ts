/** Half-precision weights in the cache's widened file. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, References } from "effect"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as WidenedWeights from "../../src/model/file/WidenedWeights.ts"
import * as Fixtures from "./Fixtures.ts"

const entriesOf = (name: Fixtures.Name) =>
  Effect.flatMap(ModelFolder.readConfig(Fixtures.folder(name)), (config) =>
    ModelFolder.readEntries(Fixtures.folder(name), config)
  )

const inCache = (folder: string) => ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_CACHE_DIR: folder }))

const quiet = Layer.succeed(References.MinimumLogLevel, "None")

layer(Layer.merge(NodeServices.layer, quiet))("WidenedWeights", (it) => {
  for (const name of Fixtures.names) {
    it.effect(`has the values of ${name}, those of float32 where they were`, () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const entries = yield* entriesOf(name)
        const widened = yield* Effect.provide(WidenedWeights.cached(entries, 0), inCache(folder))
        assert.deepStrictEqual([...widened.keys()], [...entries.keys()])
        for (const [tensor, entry] of entries) {
          const now = widened.get(tensor)!
          assert.strictEqual(now.dtype, "F32")
          assert.deepStrictEqual(now.shape, entry.shape)
          if (entry.dtype === "F32") assert.deepStrictEqual(now, entry)
          assert.deepStrictEqual(yield* Safetensors.floats(now), yield* Safetensors.floats(entry))
        }
      })
    )
  }

  it.effect(
    "is written once by any number at the same time, again when the model has changed, and leaves no parts",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const model = `${folder}/model`
        yield* fs.copy(Fixtures.folder(half), model)
        const entries = yield* Effect.flatMap(ModelFolder.readConfig(model), (config) =>
          ModelFolder.readEntries(model, config)
        )
        const cached = Effect.provide(WidenedWeights.cached(entries, 0), inCache(folder))
        // What a killed process left, and what a living one is writing.
        yield* fs.makeDirectory(`${folder}/weights`)
        const [dead, living] = [2 ** 22 + 1, process.ppid].map((pid) => `${folder}/weights/other.${pid}.0.partial`)
        yield* Effect.forEach([dead!, living!], (path) => fs.writeFileString(path, ""))
        yield* Effect.all([cached, cached, cached], { concurrency: "unbounded" })
        assert.deepStrictEqual([yield* fs.exists(dead!), yield* fs.exists(living!)], [false, true])
        yield* fs.remove(living!)
        const [name, ...others] = yield* fs.readDirectory(`${folder}/weights`)
        assert.deepStrictEqual(others, [])
        const { ino } = yield* fs.stat(`${folder}/weights/${name}`)
        yield* cached
        assert.deepStrictEqual((yield* fs.stat(`${folder}/weights/${name}`)).ino, ino)
        const [{ file }] = [...entries.values()] as [Safetensors.Entry]
        yield* fs.utimes(file, new Date(0), new Date(0))
        yield* cached
        assert.strictEqual((yield* fs.readDirectory(`${folder}/weights`)).length, 2)
      })
  )

  it.effect("stays a private copy where there is little of it, or where the cache cannot be written", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${folder}/occupied`, "")
      const entries = yield* entriesOf(half)
      assert.strictEqual(yield* Effect.provide(WidenedWeights.cached(entries), inCache(folder)), entries)
      const occupied = inCache(`${folder}/occupied`)
      assert.strictEqual(yield* Effect.provide(WidenedWeights.cached(entries, 0), occupied), entries)
    })
  )
})

/** A fixture in half precision. */
const half = "qwen2"
