/**
 * Folders of models with absurd sizes, lies and bombs: each is refused by name, within seconds and without the memory
 * it claims.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import type { LoraSettings } from "../../src/model/Lora.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as Fixtures from "../model/Fixtures.ts"

const trains: LoraSettings = { r: 2, alpha: 4, rslora: false, targetModules: ["all-linear"] }

interface Json {
  [key: string]: unknown
}

type Weights = (bytes: Buffer) => Buffer

/** Changes to the files of a good folder. */
interface Spoiling {
  readonly json?: { readonly [file: string]: (value: Json) => void }
  readonly text?: { readonly [file: string]: string }
  readonly weights?: Weights
  readonly trains?: LoraSettings | "all"
}

const config = (more: Json): Spoiling => ({ json: { "config.json": (value) => void Object.assign(value, more) } })

const tokenizer = (change: (value: Json) => void): Spoiling => ({ json: { "tokenizer.json": change } })

const template = (text: string): Spoiling => ({ text: { "chat_template.jinja": text } })

/** With another head in front of the same data. */
const headed =
  (head: string): Weights =>
  (bytes) => {
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(head)))
    return Buffer.concat([length, Buffer.from(head), bytes.subarray(8 + Number(bytes.readBigUInt64LE(0)))])
  }

/** The first floats of the data, as these bits. */
const bits =
  (word: number, at: number): Weights =>
  (bytes) => {
    const copy = Buffer.from(bytes)
    copy.writeUInt32LE(word, 8 + Number(bytes.readBigUInt64LE(0)) + 4 * at)
    return copy
  }

const cases: ReadonlyArray<readonly [what: string, Spoiling, told: RegExp]> = [
  ["10^9 layers", config({ num_hidden_layers: 1e9 }), /between 1 and 2048.*num_hidden_layers/s],
  ["a width of 10^9", config({ hidden_size: 1e9 }), /between 1 and 1048576.*hidden_size/s],
  ["an inner width of 10^9", config({ intermediate_size: 1e9 }), /between 1 and .*intermediate_size/s],
  ["10^9 heads", config({ num_attention_heads: 1e9 }), /between 1 and 4096.*num_attention_heads/s],
  ["heads of 10^9", config({ head_dim: 1e9 }), /between 1 and .*head_dim/s],
  ["10^9 tokens", config({ vocab_size: 1e9 }), /between 1 and 8388608.*vocab_size/s],
  ["2^52 positions", config({ max_position_embeddings: 2 ** 52 }), /between 1 and .*max_position_embeddings/s],
  ["layers that the file has not", config({ num_hidden_layers: 2000 }), /tensor model\.layers\.\d+\..* is missing/],
  ["a width that the file has not", config({ hidden_size: 4096 }), /is \[\d+(, \d+)*\] in .*, the configuration needs/],
  ["an end that is no token", config({ eos_token_id: 2 ** 31 }), /eos_token_id 2147483648 is not in the vocabulary of/],
  [
    "an end that is no token, in the other file",
    { text: { "generation_config.json": '{"eos_token_id": [2, 4294967296]}' } },
    /generation_config\.json: eos_token_id 4294967296 is not in the vocabulary/
  ],
  ["a base of 0", config({ rope_theta: 0 }), /rope_theta/],
  ["no epsilon", config({ rms_norm_eps: -1 }), /rms_norm_eps/],
  [
    "settings of megabytes",
    { text: { "config.json": `{"a": "${"x".repeat(2 ** 21)}"}` } },
    /config\.json has 2097\d+ bytes/
  ],
  ["settings in settings", { text: { "config.json": "[".repeat(500_000) } }, /nested too deeply/],
  ["settings with NUL", { text: { "config.json": "\u0000" } }, /config\.json is not JSON/],
  [
    "a head of 10 GB",
    { weights: () => Buffer.from("00e40b5402000000", "hex") },
    /its header length is 10000000000 bytes/
  ],
  ["a head of 2^64 - 1", { weights: () => Buffer.alloc(16, 0xff) }, /its header length is 18446744073709552000 bytes/],
  [
    "a head that is a bomb",
    { weights: headed(`{"a":[${"{},".repeat(4_000_000)}1]}`) },
    /its header is not a list of tensors/
  ],
  [
    "a tensor beyond the file",
    { weights: headed('{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}') },
    /a ends at byte 40000000\d+, but the file has/
  ],
  [
    "a tensor of no size",
    { weights: headed('{"a":{"dtype":"F32","shape":[9007199254740991,9007199254740991],"data_offsets":[0,4]}}') },
    /a \[9007199254740991, 9007199254740991\] F32 needs .* bytes, but its offsets span 4/
  ],
  [
    "a tensor that ends before it begins",
    { weights: headed('{"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}}') },
    /needs 4 bytes, but its offsets span -4/
  ],
  ["weights that are NaN", { weights: bits(0x7fc00000, 5) }, /the tensor .* is NaN or infinite at element \d+ \(/],
  [
    "weights that are infinite",
    { weights: bits(0xff800000, 0), trains: "all" },
    /is NaN or infinite at element \d+ \(/
  ],
  ["a rank of 10^9", { trains: { ...trains, r: 1e9 } }, /rank is a whole number from 1 to 65536, not 1000000000/],
  [
    "a vocabulary with the token 2^31",
    tokenizer((value) => void ((value["model"] as { vocab: Json }).vocab["beyond"] = 2 ** 31)),
    /has the id 2147483648; ids must be whole numbers/
  ],
  [
    "an added token 2^31",
    tokenizer(
      (value) => void (value["added_tokens"] as Array<Json>).push({ id: 2 ** 31, content: "<far>", special: true })
    ),
    /has the id 2147483648; ids must be whole numbers/
  ],
  [
    "a negative token",
    tokenizer((value) => void ((value["model"] as { vocab: Json }).vocab["below"] = -5)),
    /the token "below" has the id -5/
  ],
  [
    "a splitting pattern that backtracks",
    tokenizer((value) => {
      value["pre_tokenizer"] = { type: "Split", pattern: { Regex: "(a+)+$" }, behavior: "Isolated", invert: false }
    }),
    /the pattern \(a\+\)\+\$ of tokenizer\.json .* exponential time/
  ],
  [
    "a template without end",
    template("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"),
    /the chat template .* cannot render a one-word prompt/
  ],
  [
    "a template that doubles",
    template(
      `{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}`
    ),
    /the chat template .* cannot render a one-word prompt/
  ],
  [
    "a template of gigabytes",
    template(`{% for i in range(30000) %}{% for j in range(30000) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}`),
    /the chat template .* cannot render a one-word prompt/
  ]
]

layer(Layer.merge(NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "a folder of a model with",
  (it) => {
    for (const [what, spoiling, told] of cases) {
      it.effect(`${what} is refused by name`, () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const folder = yield* fs.makeTempDirectoryScoped()
          yield* fs.copy(Fixtures.folder("llama"), folder)
          for (const [file, change] of Object.entries(spoiling.json ?? {})) {
            const value = JSON.parse(yield* fs.readFileString(`${folder}/${file}`)) as Json
            change(value)
            yield* fs.writeFileString(`${folder}/${file}`, JSON.stringify(value))
          }
          for (const [file, text] of Object.entries(spoiling.text ?? {}))
            yield* fs.writeFileString(`${folder}/${file}`, text)
          if (spoiling.weights !== undefined) {
            const path = `${folder}/model.safetensors`
            yield* fs.writeFile(path, spoiling.weights(Buffer.from(yield* fs.readFile(path))))
          }
          const error = yield* Effect.flip(PretrainedModel.load(folder, { trains: spoiling.trains ?? trains, seed: 1 }))
          assert.strictEqual(error._tag, "ModelError")
          assert.match(error.message, told)
          assert.include(error.model, folder)
        })
      )
    }
  }
)
