/**
 * Back ends against servers whose answers were made by their own response classes, and whose request classes check
 * every body.
 */
import { assert, describe, it } from "@effect/vitest"
import { Message, Sampling, ServerManager, Tokenizer } from "@atropos/core"
import { writeFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { backendOf, quiet } from "./ProbedBackend.ts"
import * as ServerFixture from "./ServerFixture.ts"

const inputIds = [1, 2, 3]
const sampled = [
  { tokens: [97, 98], logprobs: [-0.1, -0.25], finishReason: "stop" },
  { tokens: [99], logprobs: [-0.5], finishReason: "length" }
]
const hello = [Message.user("hello")]

/** Everything a request may say. */
const everything = {
  n: 2,
  maxTokens: 8,
  temperature: 0.7,
  topP: 0.9,
  topK: 5,
  minP: 0.05,
  stop: ["END"],
  seed: 3
} as const

/** Servers with exact tokens, and the path that gives them. */
const exact: ReadonlyArray<readonly [name: string, path: string, without?: ReadonlyArray<string>]> = [
  ["vllm-0.33.0", "/inference/v1/generate"],
  // As `vllm serve` is without --enable-scale-out.
  ["vllm-0.33.0", "/v1/completions", ["/inference/v1/generate"]],
  ["vllm-0.12.0", "/inference/v1/generate"],
  ["vllm-0.10.2", "/v1/completions"],
  ["vllm-0.8.5", "/v1/completions"],
  ["sglang-0.5.23", "/generate"],
  ["sglang-0.4.10.post2", "/generate"],
  ["trl-1.9.2", "/generate/"]
]

/** Bodies by server and name, as scripts/make-server-fixtures.py puts them through the servers' own classes. */
const recorded: Record<string, Record<string, readonly [path: string, body: unknown]>> = {}
const record = (server: string, name: string, path: string, body: unknown) => {
  const bodies = (recorded[server] ??= {})
  bodies[name] = [path, body]
}

describe("exact tokens", () => {
  for (const [name, path, without = []] of exact) {
    for (const mode of ["raw", "processed", "tempered"] as const) {
      it.live(`${name} gives ids and ${mode} logprobs by ${path}`, () =>
        Effect.gen(function* () {
          const fixture = ServerFixture.read(name)
          const server = yield* ServerFixture.serve(fixture, { mode, without })
          const backend = yield* backendOf(server.url)
          yield* quiet(backend.identify ?? Effect.void)
          assert.deepStrictEqual(server.posts().length, 2)
          const { seed, ...seedless } = everything
          const hasSeed = name !== "sglang-0.4.10.post2"
          const choices = yield* backend.tokens({ inputIds, ...seedless, ...(hasSeed && { seed }) })
          const sampling = Sampling.ofRequest(everything, mode)
          assert.deepStrictEqual(
            choices.map(({ finishReason, logprobs, sampling, tokens }) => ({
              finishReason,
              logprobs,
              sampling,
              tokens
            })),
            sampled.map(({ finishReason, logprobs, tokens }) => ({
              // TRL's server says nothing of why it stopped.
              finishReason: name.startsWith("trl") ? "length" : finishReason,
              logprobs,
              sampling,
              tokens
            }))
          )
          const asked = server.posts().at(-1)!
          assert.strictEqual(asked.path, path)
          record(name, path, path, asked.body)
        })
      )
    }
  }

  it.live("send every parameter that changes the distribution, also where nothing was asked for", () =>
    Effect.gen(function* () {
      for (const [name, path, without = []] of exact) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name), { without })
        const backend = yield* backendOf(server.url)
        yield* quiet(backend.tokens({ inputIds, n: 2, maxTokens: 8 }))
        const { body } = server.posts().at(-1)!
        const params = (body["sampling_params"] ?? body) as { readonly [key: string]: unknown }
        assert.deepStrictEqual(
          ["temperature", "top_p", "top_k", "min_p", "repetition_penalty"].map((key) => params[key]),
          [1, 1, -1, 0, 1],
          name
        )
        record(name, `${path} by default`, path, body)
      }
    })
  )

  it.live("are asked for by the name of the model that the server has, and up to its length", () =>
    Effect.gen(function* () {
      const server = yield* ServerFixture.serve(ServerFixture.read("vllm-0.33.0"))
      const backend = yield* backendOf(server.url)
      yield* quiet(backend.tokens({ inputIds, n: 2 }))
      const { model, sampling_params: params } = server.posts().at(-1)!.body
      assert.strictEqual(model, "tiny")
      // vLLM would make 16 tokens.
      assert.strictEqual((params as { readonly max_tokens: number }).max_tokens, 4096 - 3)
    })
  )

  it.live("come beside the text of a chat where nobody has a tokenizer", () =>
    Effect.gen(function* () {
      for (const name of ["vllm-0.33.0", "vllm-0.10.2", "vllm-0.8.5"]) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name))
        const layer = ServerManager.layer({ servers: [{ baseUrl: `${server.url}/v1` }] })
        const [trajectory] = yield* ServerManager.ServerManager.use(({ chat }) => chat({ messages: hello })).pipe(
          Effect.provide(layer),
          quiet
        )
        // Before 0.10.2 the prompt's ids do not come.
        const prompt = name === "vllm-0.8.5" ? [] : inputIds
        assert.deepStrictEqual([...trajectory!.tokens].slice(-2), name === "vllm-0.8.5" ? [] : [97, 98], name)
        assert.deepStrictEqual([...trajectory!.tokens].slice(0, -2), prompt, name)
        record(name, "/v1/chat/completions", "/v1/chat/completions", server.posts().at(-1)!.body)
      }
    })
  )

  it.live("logprobs of a prompt come from stock vLLM", () =>
    Effect.gen(function* () {
      for (const name of ["vllm-0.33.0", "vllm-0.10.2", "vllm-0.8.5"]) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name))
        const backend = yield* backendOf(server.url, { serverType: "vllm" })
        assert.deepStrictEqual(yield* quiet(backend.promptLogprobs({ inputIds, topK: 2 })), {
          promptTokens: inputIds,
          topTokenIds: [[], [2, 7], [3, 8]],
          topLogprobs: [[], [-0.5, -1.5], [-0.25, -2]]
        })
        record(name, "prompt logprobs", "/v1/completions", server.posts().at(-1)!.body)
      }
    })
  )

  it.live("that vLLM has no logprob for (-9999) are refused", () =>
    Effect.gen(function* () {
      const fixture = ServerFixture.read("vllm-0.33.0")
      const holes = JSON.parse(JSON.stringify(fixture.answers).replaceAll("-0.25", "-9999.0"))
      const server = yield* ServerFixture.serve({ ...fixture, answers: holes })
      const backend = yield* backendOf(server.url)
      const error = yield* Effect.flip(quiet(backend.tokens({ inputIds, n: 2, maxTokens: 8 })))
      assert.strictEqual(error.reason, "malformed")
      assert.include(error.message, "no logprob of the sampled token at output position 1")
    })
  )
})

describe("what a server cannot do is refused by its name", () => {
  const refusing = (name: string, parameter: string, request: Partial<typeof everything>) =>
    it.live(`${name}: ${parameter}`, () =>
      Effect.gen(function* () {
        const server = yield* ServerFixture.serve(ServerFixture.read(name))
        const backend = yield* backendOf(server.url, {}, Tokenizer.bytes)
        const asked: Effect.Effect<unknown, ServerManager.InferenceError> =
          name === "sglang-0.4.10.post2"
            ? backend.tokens({ inputIds, ...request })
            : backend.chat({ messages: hello, ...request })
        const error = yield* Effect.flip(quiet(asked))
        assert.strictEqual(error.reason, "unsupported")
        assert.include(error.message, `does not support ${parameter}`)
      })
    )
  refusing("sglang-0.4.10.post2", "seed", { seed: 3 })
  refusing("trl-0.17.0", "stop", { stop: ["END"] })
  refusing("trl-0.17.0", "seed", { seed: 3 })
})

describe("transformers serve", () => {
  it.live("samples as asked: its model's own configuration, which is usually greedy, is replaced", () =>
    Effect.gen(function* () {
      const server = yield* ServerFixture.serve(ServerFixture.read("transformers-5.23.0"))
      const backend = yield* backendOf(server.url)
      const answer = yield* quiet(backend.chat({ messages: hello, ...everything }))
      assert.strictEqual(answer.choices[0]!.text, "ab")
      const { body } = server.posts().at(-1)!
      assert.deepStrictEqual(JSON.parse(String(body["generation_config"])), {
        do_sample: true,
        temperature: 0.7,
        top_p: 0.9,
        top_k: 5,
        min_p: 0.05,
        repetition_penalty: 1,
        max_new_tokens: 8
      })
      // It ignores n, and refuses a model's name other than its own.
      assert.isFalse("n" in body || "model" in body)
      record("transformers-5.23.0", "chat", "/v1/chat/completions", body)
      yield* quiet(backend.complete({ prompt: "hello", temperature: 0 }))
      const greedy = server.posts().at(-1)!.body
      assert.strictEqual(JSON.parse(String(greedy["generation_config"])).do_sample, false)
      record("transformers-5.23.0", "completion", "/v1/completions", greedy)
    })
  )
})

describe("a manager of such servers", () => {
  it.live("makes trajectories of exact tokens, with logprobs and how they were sampled", () =>
    Effect.gen(function* () {
      for (const [name, , without = []] of exact) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name), { mode: "processed", without })
        const trajectories = yield* ServerManager.ServerManager.use(({ chat }) =>
          chat({ messages: hello, n: 2, maxTokens: 8, temperature: 0.7 })
        ).pipe(
          Effect.provide(
            ServerManager.layer({ servers: [{ baseUrl: `${server.url}/v1` }] }).pipe(
              Layer.provide(Tokenizer.layerBytes)
            )
          ),
          quiet
        )
        assert.deepStrictEqual(
          trajectories.map(({ logprobs, sampling, tokens }) => [
            tokens.at(-1),
            logprobs!.at(-1),
            sampling?.temperature,
            sampling?.logprobs
          ]),
          [
            [98, Math.fround(-0.25), 0.7, "processed"],
            [99, Math.fround(-0.5), 0.7, "processed"]
          ],
          name
        )
      }
    })
  )
})

describe("vLLM's own request classes", () => {
  it("make of our bodies the sampling that was asked for, whatever a model's generation_config.json says", () => {
    // 0.6, 0.95, 20, 0.1 and 1.1 is what that file said when these were made.
    for (const name of ["vllm-0.33.0", "vllm-0.12.0", "vllm-0.10.2", "vllm-0.8.5"]) {
      const { told } = ServerFixture.read(name)
      assert.deepStrictEqual(Object.keys(told ?? {}), Object.keys(ServerFixture.recordedBodies[name] ?? {}))
      for (const [what, params] of Object.entries(told ?? {})) {
        const isPrompt = what === "prompt logprobs"
        const isDefault = what.endsWith("by default") || what.includes("chat")
        const expected = isPrompt
          ? [0, 1, 0, 0]
          : isDefault
            ? [1, 1, 0, 0]
            : [everything.temperature, everything.topP, everything.topK, everything.minP]
        const { min_p: minP, repetition_penalty: penalty, temperature, top_k: topK, top_p: topP } = params
        assert.deepStrictEqual([temperature, topP, Math.max(0, topK ?? 0), minP, penalty], [...expected, 1], what)
        if (!isPrompt) assert.strictEqual(params["logprobs"], 0)
      }
    }
  })
})

describe("bodies that were recorded", () => {
  it("are the ones that were put through the servers' own classes (RECORD=1 writes them anew)", () => {
    const file = new URL("../../fixtures/servers/requests.json", import.meta.url)
    if (process.env["RECORD"] === "1") writeFileSync(file, `${JSON.stringify(recorded, null, 1)}\n`)
    else assert.deepStrictEqual(JSON.parse(JSON.stringify(recorded)), ServerFixture.recordedBodies)
  })
})
