/** Models of a hub on this machine: what is asked for, what is kept, and what a missing part is called. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Path, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import * as Ort from "../../src/exec/Ort.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as Fixtures from "./Fixtures.ts"

const adapter = { r: 2, alpha: 4, rslora: false, targetModules: ["all-linear"] }
const services = Layer.mergeAll(
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "Warn")
)

/** A hub whose repositories `tests/<name>` are the fixtures, but for the files that are withheld. */
const hub = (withheld: ReadonlyArray<string> = []) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: ReadonlyArray<string>; readonly close: () => void }>(
      (resume) => {
        const asked: Array<string> = []
        const server = createServer(({ url = "" }, response) => {
          const [, name = "", revision, file = ""] = /^\/tests\/(\w+)\/resolve\/([\w.%]+)\/([\w.-]+)$/.exec(url) ?? []
          asked.push(file)
          const place = new URL(`../fixtures/models/${name}/${file}`, import.meta.url)
          if (revision !== "v1" || withheld.includes(file) || !existsSync(place)) response.writeHead(404).end()
          else response.end(readFileSync(place))
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" ? address?.port : 0
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }))
        })
      }
    ),
    ({ close }) => Effect.sync(close)
  )

const load = (env: { readonly [name: string]: string }, name: string) =>
  PretrainedModel.load(name, { trains: adapter, seed: 1 }).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

const temporary = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

describe("PretrainedModel.load, hub", () => {
  it.live("downloads the shards that the index names once, and needs no network afterwards", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* hub()
      const env = { HF_HOME: yield* temporary, HF_ENDPOINT: url }
      const model = yield* load(env, "tests/qwen3@v1")
      assert.deepStrictEqual(
        asked.filter((file) => file.endsWith(".safetensors")).toSorted(),
        [1, 2, 3, 4].map((part) => `model-0000${part}-of-00004.safetensors`)
      )
      assert.strictEqual(new Set(asked).size, asked.length)
      assert.strictEqual(model.name, "tests/qwen3@v1")
      const before = asked.length
      const again = yield* load({ ...env, HF_HUB_OFFLINE: "1" }, "tests/qwen3@v1")
      assert.strictEqual(asked.length, before)
      const { base, inputIds } = Fixtures.expected("qwen3")
      const logits = yield* (yield* Fixtures.logitsOf(again))(Fixtures.grid([[inputIds[0]!]]), again.initial)
      assert.isBelow(Fixtures.maxDifference(logits, Fixtures.floats(base.logits[0]!)), 1e-4)
      assert.deepStrictEqual(again.tokenizer.encode("a+b"), model.tokenizer.encode("a+b"))
    }).pipe(Effect.scoped, Effect.provide([services, Ort.layer({ threads: 1 })]))
  )

  it.live("takes a single file where there is no index", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* hub()
      yield* load({ HF_HOME: yield* temporary, HF_ENDPOINT: url }, "tests/qwen2@v1")
      assert.deepStrictEqual(
        asked.filter((file) => file.endsWith(".safetensors")),
        ["model.safetensors"]
      )
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("says what is missing: the repository, the weights, the network", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* hub(["model.safetensors"])
      const env = { HF_HOME: yield* temporary, HF_ENDPOINT: url }
      const failure = (name: string, more = {}) => Effect.flip(load({ ...env, ...more }, name))
      const unknown = yield* failure("tests/nothing@v1")
      assert.strictEqual(unknown.reason, "hub")
      assert.include(unknown.message, "/tests/nothing/resolve/v1/config.json answered 404")
      // Without a configuration nothing else is asked for.
      assert.deepStrictEqual(asked, ["config.json"])
      const weightless = yield* failure("tests/llama@v1")
      assert.strictEqual(weightless.reason, "hub")
      assert.include(weightless.message, "model.safetensors answered 404")
      const offline = yield* failure("tests/smollm@v1", { HF_HUB_OFFLINE: "1" })
      assert.strictEqual(offline.reason, "hub")
      assert.include(offline.message, "HF_HUB_OFFLINE is set")
      const before = asked.length
      for (const path of ["./nowhere", "../nowhere", "tests/model.gguf"]) {
        const local = yield* failure(path)
        assert.strictEqual(local.reason, "missing")
        assert.match(local.message, /^folder not found: \//)
      }
      assert.strictEqual(asked.length, before)
      const closed = yield* failure("no/such/folder")
      assert.strictEqual(closed.reason, "missing")
      assert.include(closed.message, "neither a local folder nor a hub id")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("PretrainedModel.load, the cache of Hugging Face's own tools", () => {
  it.live("reads weights that are links to blobs elsewhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join, relative } = yield* Path.Path
      const root = join(yield* temporary, "models--tests--qwen3")
      const [blobs, snapshot] = [join(root, "blobs"), join(root, "snapshots", "0123abc")]
      yield* fs.makeDirectory(blobs, { recursive: true })
      yield* fs.makeDirectory(snapshot, { recursive: true })
      const from = Fixtures.folder("qwen3")
      const files = (yield* fs.readDirectory(from)).filter((name) => name !== "adapter")
      for (const [at, name] of files.entries()) {
        yield* fs.copyFile(join(from, name), join(blobs, `blob${at}`))
        yield* fs.symlink(relative(snapshot, join(blobs, `blob${at}`)), join(snapshot, name))
      }
      const model = yield* PretrainedModel.load(snapshot, { trains: adapter, seed: 1 })
      const { base, inputIds } = Fixtures.expected("qwen3")
      const logits = yield* (yield* Fixtures.logitsOf(model))(Fixtures.grid([[inputIds[1]!]]), model.initial)
      assert.isBelow(Fixtures.maxDifference(logits, Fixtures.floats(base.logits[1]!)), 1e-4)
    }).pipe(Effect.scoped, Effect.provide([services, Ort.layer({ threads: 1 })]))
  )
})
