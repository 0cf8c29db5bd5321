/** A tokenizer that is not the server's, found out before anything is sampled with its ids. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Tokenizer } from "@atropos/core"
import { Effect, Logger, Option } from "effect"
import * as TokenizerIdentity from "../../../src/inference/tokenizer/TokenizerIdentity.ts"
import * as ServedTokenizer from "../../../src/inference/backend/ServedTokenizer.ts"
import * as TestServer from "../TestServer.ts"
import * as ProbedBackend from "./ProbedBackend.ts"

const { bytes } = Tokenizer
/** Another tokenizer of the same size: every id means the next byte. */
const shifted: Tokenizer.TokenizerShape = {
  ...bytes,
  name: "shifted",
  encode: (text, options) => bytes.encode(text, options).map((id) => (id < 256 ? (id + 1) % 256 : id)),
  decode: (ids, options) =>
    bytes.decode(
      Array.from(ids, (id) => (id < 256 ? (id + 255) % 256 : id)),
      options
    )
}

const frame = 256

interface Served {
  readonly owner: string
  readonly tokenizer: Tokenizer.TokenizerShape
  /** What it has of all that can be compared. */
  readonly has: ReadonlyArray<"/tokenize" | "prompt ids" | "input logprobs" | "digest" | "count">
  readonly isFramed?: boolean
}

/** A server with token-level answers. */
const serve = ({ has, isFramed = false, owner, tokenizer }: Served) =>
  TestServer.make(
    ({ body, method, path }) => {
      const prompt = body["prompt"]
      if (method === "GET" && path === "/v1/models") {
        const named = has.includes("digest") ? { tokenizer: TokenizerIdentity.of(tokenizer) } : {}
        return { json: { data: [{ id: "tiny", owned_by: owner, ...named }] } }
      }
      if (path === "/tokenize" && has.includes("/tokenize")) {
        const ids = tokenizer.encode(String(prompt))
        return { json: { tokens: isFramed ? [frame, ...ids] : ids } }
      }
      if (path === "/generate" && owner === "sglang") {
        const ids =
          typeof body["text"] === "string" && has.includes("input logprobs")
            ? tokenizer.encode(body["text"])
            : undefined
        const prompted = ids && { input_token_logprobs: ids.map((id, at) => [at === 0 ? null : -1, id, null]) }
        return {
          json: { meta_info: { output_token_logprobs: [[-1, 97, null]], finish_reason: { type: "stop" }, ...prompted } }
        }
      }
      if (path === "/generate")
        return { json: { token_ids: [[97]], logprobs: [[{ "97": -1 }]], finish_reasons: ["stop"] } }
      if (path === "/v1/completions") {
        const ids = typeof prompt === "string" && has.includes("prompt ids") ? tokenizer.encode(prompt) : undefined
        const choice = {
          index: 0,
          text: "",
          finish_reason: "stop",
          token_ids: [97],
          logprobs: { tokens: ["a"], token_logprobs: [-1] }
        }
        const usage = has.includes("count") && { usage: { prompt_tokens: tokenizer.encode(String(prompt)).length } }
        return { json: { choices: [{ ...choice, ...(ids && { prompt_token_ids: ids }) }], ...usage } }
      }
      return { status: 404, json: {} }
    },
    { isProbed: true }
  )

const ask = (served: Served, own: Tokenizer.TokenizerShape) =>
  Effect.gen(function* () {
    const server = yield* serve(served)
    const backend = yield* ProbedBackend.backendOf(server.url, { logprobsMode: "raw" }, own)
    const answer = yield* Effect.result(backend.tokens({ inputIds: [1], maxTokens: 1 }))
    return { answer, backend, server }
  }).pipe(ProbedBackend.quiet)

const found = (...urls: ReadonlyArray<string>) =>
  ServedTokenizer.find(
    urls.map((url) => ({ baseUrl: `${url}/v1` })),
    { slurm: false }
  )

const comparable: ReadonlyArray<readonly [what: string, served: Omit<Served, "tokenizer">]> = [
  ["our policy's /tokenize", { owner: "atropos", has: ["/tokenize", "digest"] }],
  ["our policy's digest", { owner: "atropos", has: ["digest"] }],
  ["vLLM's /tokenize", { owner: "vllm", has: ["/tokenize"] }],
  ["the ids that vLLM reports of a prompt", { owner: "vllm", has: ["prompt ids"] }],
  ["SGLang's /tokenize", { owner: "sglang", has: ["/tokenize"] }],
  ["the logprobs that SGLang reports of a prompt", { owner: "sglang", has: ["input logprobs", "count"] }]
]

describe("the tokenizer of a server", () => {
  for (const [what, served] of comparable) {
    it.live(`is compared by ${what}: another one is refused with both names, before anything is sampled`, () =>
      Effect.gen(function* () {
        const { answer, server } = yield* ask({ ...served, tokenizer: bytes }, shifted)
        const error = answer._tag === "Failure" ? answer.failure : assert.fail("it was answered")
        assert.strictEqual(error.reason, "rejected")
        assert.include(error.message, "shifted")
        assert.include(error.message, served.has.includes("digest") ? "bytes" : "tiny")
        assert.isFalse(server.asked.some(({ body }) => Array.isArray(body["prompt"]) || "prompt_token_ids" in body))
      })
    )

    it.live(`is compared by ${what}, once: the same one is used`, () =>
      Effect.gen(function* () {
        const { answer, backend, server } = yield* ask({ ...served, tokenizer: bytes }, bytes)
        assert.strictEqual(answer._tag, "Success")
        const asked = server.asked.length
        yield* backend.tokens({ inputIds: [1], maxTokens: 1 })
        assert.strictEqual(server.asked.length, asked + 1)
      })
    )
  }

  it.live("may put special tokens around a text", () =>
    Effect.map(ask({ owner: "vllm", has: ["/tokenize"], tokenizer: bytes, isFramed: true }, bytes), ({ answer }) =>
      assert.strictEqual(answer._tag, "Success")
    )
  )

  const halved = {
    ...bytes,
    name: "halved",
    encode: (text: string) => bytes.encode(text).filter((_, at) => at % 2 === 0)
  }

  for (const owner of ["vllm", "sglang"]) {
    it.live(`is compared by how many tokens ${owner} counts in a prompt, where nothing else is reported`, () =>
      Effect.gen(function* () {
        const refused = yield* ask({ owner, has: ["count"], tokenizer: bytes }, halved)
        assert.strictEqual(refused.answer._tag, "Failure")
        const used = yield* ask({ owner, has: ["count"], tokenizer: bytes }, bytes)
        assert.strictEqual(used.answer._tag, "Success")
      })
    )

    it.live(`is taken on trust where nothing of ${owner} can be compared, which is reported once`, () =>
      Effect.gen(function* () {
        const reported: Array<unknown> = []
        const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
          if (logLevel === "Warn") reported.push(message)
        })
        const server = yield* serve({ owner, has: [], tokenizer: bytes })
        const backend = yield* ProbedBackend.backendOf(server.url, { logprobsMode: "raw" }, shifted)
        yield* Effect.gen(function* () {
          for (let turn = 0; turn < 3; turn++) yield* backend.tokens({ inputIds: [1], maxTokens: 1 })
        }).pipe(Effect.provide(Logger.layer([logger])))
        const compared = reported.filter((one) => JSON.stringify(one).includes("cannot be checked"))
        assert.lengthOf(compared, 1)
        assert.include(JSON.stringify(compared), "shifted")
      })
    )
  }

  it.live("is found by its name, if a server names it", () =>
    Effect.gen(function* () {
      const plain = yield* serve({ owner: "vllm", has: [], tokenizer: bytes })
      const ours = yield* serve({ owner: "atropos", has: ["digest"], tokenizer: shifted })
      const gone = yield* TestServer.nobody
      assert.strictEqual((yield* found(gone, plain.url, ours.url)).tokenizer._tag, "Some")
      assert.deepStrictEqual(yield* found(ours.url), yield* found(plain.url, ours.url))
      const { failures, tokenizer } = yield* found(gone, plain.url)
      assert.strictEqual(tokenizer._tag, "None")
      assert.lengthOf(failures, 1)
      assert.include(failures[0], gone)
      const bare = yield* ServedTokenizer.find([{ baseUrl: gone }], { slurm: false })
      assert.include(bare.failures[0], `OpenAI-compatible servers use /v1: ${gone}/v1`)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("the tokenizer of a server that is loading its model", () => {
  const loading = TestServer.make(
    (_, count) =>
      count <= 2
        ? { status: 503, json: { error: { message: "loading" } } }
        : { json: { data: [{ id: "tiny", tokenizer: TokenizerIdentity.of(shifted) }] } },
    { isProbed: true }
  )
  const named = (serverWait?: number) =>
    Effect.gen(function* () {
      const { url } = yield* loading
      return yield* ServedTokenizer.find([{ baseUrl: `${url}/v1` }], {
        slurm: false,
        ...(serverWait && { serverWait })
      })
    }).pipe(ProbedBackend.quiet)

  it.live("is waited for, as long as a request would wait for the server", () =>
    Effect.gen(function* () {
      const { failures, tokenizer } = yield* named(60)
      assert.deepStrictEqual(failures, [])
      assert.deepStrictEqual(tokenizer, Option.some(TokenizerIdentity.of(shifted)))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("is not waited for without a time, and the failure says why", () =>
    Effect.gen(function* () {
      const { failures, tokenizer } = yield* named()
      assert.deepStrictEqual(tokenizer, Option.none())
      assert.include(failures.join(), "loading")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("the identity of a tokenizer", () => {
  it("is the same for what means the same, whatever it is called, and another for everything else", () => {
    const { digest } = TokenizerIdentity.of(bytes)
    assert.strictEqual(TokenizerIdentity.of({ ...bytes, name: "elsewhere" }).digest, digest)
    const larger = { ...bytes, vocabularySize: bytes.vocabularySize + 1 }
    for (const other of [shifted, larger]) assert.notStrictEqual(TokenizerIdentity.of(other).digest, digest)
  })
})
