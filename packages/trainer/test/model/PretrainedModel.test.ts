/** Folders and hubs that are not as they should be, and what is said of them. */
import { createServer } from "node:http"
import { existsSync, readFileSync, statSync } from "node:fs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import type { LoraSettings } from "../../src/model/Lora.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as Fixtures from "./Fixtures.ts"

const trains: LoraSettings = { r: 2, alpha: 4, rslora: false, targetModules: ["all-linear"] }

const load = (name: string) => PretrainedModel.load(name, { trains, seed: 1 })

/** A copy of a fixture that can be spoilt. */
const copyOf = Effect.fnUntraced(function* (name: Fixtures.Name) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.copy(Fixtures.folder(name), folder)
  const edit = Effect.fnUntraced(function* (file: string, change: (text: string) => string) {
    yield* fs.writeFileString(`${folder}/${file}`, change(yield* fs.readFileString(`${folder}/${file}`)))
  })
  return { folder, edit, remove: (file: string) => fs.remove(`${folder}/${file}`) }
})

type Copy = Effect.Success<ReturnType<typeof copyOf>>

/** A tensor is renamed in the head; names of one length keep the rest in place. */
const renameTensor = (from: string, to: string) =>
  Effect.fnUntraced(function* ({ folder }: Copy) {
    const fs = yield* FileSystem.FileSystem
    const path = `${folder}/model.safetensors`
    const bytes = Buffer.from(yield* fs.readFile(path))
    const at = bytes.indexOf(`"${from}"`)
    bytes.write(`"${to}"`, at)
    yield* fs.writeFile(path, bytes)
  })

const json = (change: (value: { [key: string]: unknown }) => void) => (text: string) => {
  const value = JSON.parse(text)
  change(value)
  return JSON.stringify(value)
}

const spoilt: ReadonlyArray<
  readonly [
    string,
    Fixtures.Name,
    (copy: Copy) => Effect.Effect<unknown, unknown, FileSystem.FileSystem>,
    string,
    RegExp
  ]
> = [
  ["no config.json", "llama", ({ remove }) => remove("config.json"), "missing", /has no config\.json/],
  ["a config.json that is not JSON", "llama", ({ edit }) => edit("config.json", () => "{"), "damaged", /is not JSON/],
  [
    "another architecture",
    "llama",
    ({ edit }) =>
      edit(
        "config.json",
        json((config) => (config["model_type"] = "mamba"))
      ),
    "unsupported",
    /"mamba" is not supported; supported are llama \(Llama 2 and 3/
  ],
  ["no weights", "llama", ({ remove }) => remove("model.safetensors"), "missing", /no model\.safetensors and no model/],
  [
    "weights of another format alone",
    "llama",
    Effect.fnUntraced(function* ({ folder }) {
      const fs = yield* FileSystem.FileSystem
      yield* fs.rename(`${folder}/model.safetensors`, `${folder}/pytorch_model.bin`)
    }),
    "missing",
    /pytorch_model\.bin is not supported: save the model as safetensors/
  ],
  [
    "a shard that broke off",
    "qwen3",
    Effect.fnUntraced(function* ({ folder }) {
      const fs = yield* FileSystem.FileSystem
      yield* fs.truncate(`${folder}/model-00002-of-00004.safetensors`, 9000)
    }),
    "damaged",
    /model-00002-of-00004\.safetensors is not a safetensors file: .* the file has 9000: incomplete file/
  ],
  [
    "a shard that is not there",
    "qwen3",
    ({ remove }) => remove("model-00002-of-00004.safetensors"),
    "missing",
    /has no model-00002-of-00004\.safetensors, which model\.safetensors\.index\.json names/
  ],
  [
    "an index that leads out of the folder",
    "qwen3",
    ({ edit }) => edit("model.safetensors.index.json", (text) => text.replace("model-00001", "../model-00001")),
    "damaged",
    /names "\.\.\/model-00001-of-00004\.safetensors"/
  ],
  [
    "a tensor under another name",
    "llama",
    renameTensor("model.layers.1.mlp.up_proj.weight", "model.layers.1.mlp.up_prop.weight"),
    "mismatch",
    /model\.layers\.1\.mlp\.up_proj\.weight \[48, 32\] is missing; the closest unused name .*model\.layers\.1\.mlp\.up_prop\.weight/
  ],
  [
    "a tensor of another shape",
    "qwen2",
    ({ edit }) =>
      edit(
        "config.json",
        json((config) => (config["intermediate_size"] = 50))
      ),
    "mismatch",
    /mlp\.(gate|up|down)_proj\.weight is \[\d+, \d+\] in .*model\.safetensors, the configuration needs \[(50, 32|32, 50)\]/
  ],
  ["no tokenizer", "llama", ({ remove }) => remove("tokenizer.json"), "missing", /has no tokenizer\.json/],
  [
    "a tokenizer with more tokens than the model",
    "smollm",
    ({ edit }) => edit("tokenizer.json", (text) => text.replace(/"z": ?\d+/, '"z": 64')),
    "mismatch",
    /the tokenizer has 65 tokens, the model 64/
  ]
]

const services = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)

layer(services, { excludeTestServices: true })("PretrainedModel", (it) => {
  it.effect.each(spoilt)("says of a folder with %s what is wrong", ([, name, spoil, reason, message]) =>
    Effect.gen(function* () {
      const copy = yield* copyOf(name)
      yield* spoil(copy)
      const error = yield* Effect.flip(load(copy.folder))
      assert.strictEqual(error._tag, "ModelError")
      assert.match(error.message, message)
      assert.strictEqual(error.reason, reason)
      assert.include(error.message, copy.folder)
    }).pipe(Effect.scoped)
  )

  it.effect("stops at all the tokens that the generation's file lists", () =>
    Effect.gen(function* () {
      const { folder } = yield* copyOf("qwen2")
      assert.deepStrictEqual((yield* load(folder)).config.eosTokenIds, [2])
      yield* (yield* FileSystem.FileSystem).writeFileString(
        `${folder}/generation_config.json`,
        '{"eos_token_id": [2, 0], "temperature": 0.7}'
      )
      assert.deepStrictEqual((yield* load(folder)).config.eosTokenIds, [2, 0])
    }).pipe(Effect.scoped)
  )

  it.effect("can be loaded for shorter sequences, and is saved with the positions it came with", () =>
    Effect.gen(function* () {
      const written = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const options = { trains: "all", seed: 1 } as const
      const short = yield* PretrainedModel.load(Fixtures.folder("qwen2"), { ...options, maxPositions: 32 })
      assert.strictEqual(short.config.maxPositions, 32)
      yield* short.write(written, short.initial)
      assert.strictEqual((yield* PretrainedModel.load(written, options)).config.maxPositions, 256)
      // There are no more positions than the model has.
      const long = yield* PretrainedModel.load(Fixtures.folder("qwen2"), { ...options, maxPositions: 1000 })
      assert.strictEqual(long.config.maxPositions, 256)
    }).pipe(Effect.scoped)
  )

  it.effect("has the folder's tokenizer and chat template", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load(Fixtures.folder("qwen3"))
      const prompt = tokenizer.applyChatTemplate([{ role: "user", content: "1+1=" }], { addGenerationPrompt: true })
      assert.strictEqual(prompt, "<|im_start|>user\n1+1=<|im_end|>\n<|im_start|>assistant\n")
      assert.strictEqual(tokenizer.decode(tokenizer.encode("a b=2")), "a b=2")
      assert.strictEqual(tokenizer.eosTokenId, 2)
    })
  )

  it.effect("refuses settings of an adapter that make none", () =>
    Effect.gen(function* () {
      const failure = (settings: Partial<LoraSettings>) =>
        Effect.flip(PretrainedModel.load(Fixtures.folder("llama"), { trains: { ...trains, ...settings }, seed: 1 }))
      assert.match((yield* failure({ r: 0 })).message, /rank is a whole number from 1 to 65536, not 0/)
      assert.match(
        (yield* failure({ targetModules: ["q_prof"] })).message,
        /unknown linear layer "q_prof"; the model has q_proj/
      )
      assert.match((yield* failure({ targetModules: [] })).message, /no linear layer is given/)
    })
  )

  it.effect("writes a model that was trained whole so that it loads again", () =>
    Effect.gen(function* () {
      const folder = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/written`
      const model = yield* PretrainedModel.load(Fixtures.folder("llama"), { trains: "all", seed: 1 })
      const changed = model.initial.map((x) => x + 0.5)
      yield* model.write(folder, changed)
      const again = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
      assert.deepStrictEqual(again.initial, changed)
      assert.deepStrictEqual({ ...again.config, file: model.config.file }, model.config)
      assert.deepStrictEqual(again.tokenizer.encode("a=1"), model.tokenizer.encode("a=1"))
    }).pipe(Effect.scoped)
  )
})

interface Asked {
  readonly url: string
  readonly authorization: string | undefined
  readonly range: string | undefined
}

/**
 * A hub that has the fixtures as `owner/<name>`; the first answer for a broken file ends once its first 1000 bytes are
 * on the disk.
 */
const modelHub = (broken?: { readonly file: string; readonly partial: string }) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: Array<Asked>; readonly close: () => void }>((resume) => {
      const asked: Array<Asked> = []
      const server = createServer(({ headers, url = "" }, response) => {
        asked.push({ url, authorization: headers.authorization, range: headers.range })
        const [, name, file] = /^\/owner\/(\w+)\/resolve\/main\/([\w.-]+)$/.exec(url) ?? []
        const path = `${Fixtures.folder(name as Fixtures.Name)}/${file}`
        if (!existsSync(path)) {
          response.writeHead(404).end()
          return
        }
        const bytes = readFileSync(path)
        const etag = `"${file}"`
        const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0)
        if (broken !== undefined && file === broken.file && from === 0) {
          response.writeHead(200, { "content-length": bytes.length, etag })
          response.write(bytes.subarray(0, 1000))
          const watch = (): void => {
            if (existsSync(broken.partial) && statSync(broken.partial).size === 1000) response.destroy()
            else setImmediate(watch)
          }
          watch()
          return
        }
        response
          .writeHead(from > 0 ? 206 : 200, { "content-length": bytes.length - from, etag })
          .end(bytes.subarray(from))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const withEnv = (env: { readonly [name: string]: string }) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))

layer(services, { excludeTestServices: true })("PretrainedModel from the hub", (it) => {
  it.effect("downloads with the token, and continues what broke off", () =>
    Effect.gen(function* () {
      const home = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const file = "model-00003-of-00004.safetensors"
      const partial = `${home}/atropos/models/owner--qwen3@main/${file}.${process.pid}.partial`
      const { asked, url } = yield* modelHub({ file, partial })
      const env = { HF_HOME: home, HF_ENDPOINT: url, HF_TOKEN: "hf_secret" }
      const model = yield* load("owner/qwen3").pipe(withEnv(env))
      assert.strictEqual(model.name, "owner/qwen3")
      const here = yield* load(Fixtures.folder("qwen3"))
      assert.deepStrictEqual(model.config, here.config)
      assert.deepStrictEqual(model.initial, here.initial)
      assert.isTrue(asked.every(({ authorization }) => authorization === "Bearer hf_secret"))
      const third = asked.filter((request) => request.url.includes("model-00003"))
      assert.deepStrictEqual(
        third.map(({ range }) => range),
        [undefined, "bytes=1000-"]
      )
      const head = model.weights.get("lm_head.weight")
      assert.isTrue(head !== undefined && "data" in head && "file" in head.data && head.data.file.startsWith(home))
    }).pipe(Effect.scoped)
  )
})
