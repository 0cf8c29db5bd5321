/** What is found out of a server, and what of that is told at the start. */
import { assert, describe, it } from "@effect/vitest"
import { ServerSettings } from "@atropos/core"
import { Effect, Logger } from "effect"
import { modeOf } from "../../../src/inference/backend/Identify.ts"
import * as Probed from "../../../src/inference/backend/Probed.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"
import { backendOf, quiet } from "./ProbedBackend.ts"
import * as ServerFixture from "./ServerFixture.ts"
import * as TestServer from "../TestServer.ts"

const inputIds = [1, 2, 3]

/** What is logged of a server, asked twice. */
const told = (url: string, settings: Partial<ServerSettings.Server> = {}, isTrainedOn?: boolean) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => {
      lines.push(JSON.stringify(message))
    })
    const backend = yield* Effect.flatMap(Transport.make, (transport) =>
      Probed.backend(
        {
          settings: ServerSettings.server.complete({ baseUrl: `${url}/v1`, ...settings }),
          reasoning: Reasoning.off,
          transport,
          ...(isTrainedOn !== undefined && { isTrainedOn })
        },
        undefined
      )
    )
    const asking = Effect.ignore(backend.identify ?? Effect.void)
    yield* Effect.andThen(asking, asking).pipe(Effect.provide(Logger.layer([logger])))
    return lines
  })

describe("what is told at the start", () => {
  it.live("that it gives neither ids nor logprobs, what that means, and what to start instead; once", () =>
    Effect.gen(function* () {
      for (const name of ["transformers-5.23.0", "trl-0.17.0"]) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name))
        const lines = yield* told(server.url)
        const [warning, ...others] = lines.filter((line) => line.includes("has no behaviour logprobs"))
        assert.include(warning, "neither token ids nor logprobs")
        assert.include(warning, "vllm serve")
        assert.deepStrictEqual(others, [])
      }
    })
  )

  it.live("nothing of tokens where nobody trains on what it says", () =>
    Effect.gen(function* () {
      const server = yield* ServerFixture.serve(ServerFixture.read("transformers-5.23.0"))
      const lines = yield* told(server.url, {}, false)
      assert.strictEqual(lines.length, 1, lines.join("\n"))
      assert.include(lines[0], "logprobs: no")
    })
  )

  it.live("nothing of the sort where there is nothing to tell", () =>
    Effect.gen(function* () {
      for (const name of ["vllm-0.33.0", "vllm-0.8.5", "sglang-0.5.23", "trl-1.9.2"]) {
        const server = yield* ServerFixture.serve(ServerFixture.read(name))
        const lines = yield* told(server.url)
        assert.strictEqual(lines.length, 1, lines.join("\n"))
        assert.include(lines[0], "logprobs: raw")
      }
    })
  )

  it.live(
    "that its type, its model's name, its adapters are not what the settings say, and that its key is refused",
    () =>
      Effect.gen(function* () {
        const vllm = ServerFixture.read("vllm-0.33.0")
        const server = yield* ServerFixture.serve(vllm, { without: ["/v1/load_lora_adapter"] })
        const lines = yield* told(server.url, { serverType: "sglang", modelName: "other", adapterPrefix: "policy-" })
        const all = lines.join("\n")
        assert.include(all, `server_type is sglang, but ${server.url}/v1 is vLLM 0.33.0`)
        assert.include(all, "has no model other: it has tiny")
        assert.include(all, "--enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True")
        const closed = yield* ServerFixture.serve(vllm, { apiKey: "secret" })
        const backend = yield* backendOf(closed.url, { apiKey: "wrong" })
        const error = yield* Effect.flip(backend.tokens({ inputIds }))
        assert.strictEqual(error.reason, "rejected")
        assert.include(error.message, "rejects the API key (401): set api_key")
      })
  )
})

/** A server that says nothing but its paths, and answers `/generate` as the original's does. */
const withPaths = (paths: ReadonlyArray<string>) =>
  TestServer.make(
    ({ path }) =>
      path === "/openapi.json"
        ? { json: { paths: Object.fromEntries(paths.map((one) => [one, {}])) } }
        : path === "/generate"
          ? { json: { finish_reasons: ["stop"], logprobs: [[{ "7": -0.5 }]], token_ids: [[7]] } }
          : { status: 404, text: "" },
    { isProbed: true }
  )

describe("what a server is", () => {
  it.live("is believed from its settings where it does not say, and shown by what it answers", () =>
    Effect.gen(function* () {
      const fixture = ServerFixture.read("vllm-0.33.0")
      const silent = { ...fixture, answers: { ...fixture.answers, models: undefined } }
      const server = yield* ServerFixture.serve({ ...silent, server: "gateway" }, { isTaciturn: true })
      const plain = yield* backendOf(server.url)
      yield* quiet(plain.identify ?? Effect.void)
      assert.strictEqual(plain.identity?.kind, "openai")
      const vllm = yield* backendOf(server.url, { serverType: "vllm" })
      assert.strictEqual((yield* quiet(vllm.tokens({ inputIds, n: 2 }))).length, 2)
      assert.deepStrictEqual([vllm.identity?.kind, vllm.identity?.tokens], ["vllm", "/v1/completions"])
    })
  )

  it.live("is asked once, however many ask; a server that was away is asked again", () =>
    Effect.gen(function* () {
      const server = yield* ServerFixture.serve(ServerFixture.read("vllm-0.33.0"))
      const backend = yield* backendOf(server.url)
      yield* quiet(
        Effect.all(
          Array.from({ length: 8 }, () => backend.tokens({ inputIds, n: 2 })),
          { concurrency: 8 }
        )
      )
      assert.strictEqual(server.asked.filter(({ path }) => path === "/v1/models").length, 1)
      assert.strictEqual(server.posts().length, 2 + 8)
    })
  )

  it.live("is told by its paths where nobody owns its models: the original's server, old transformers serve", () =>
    Effect.gen(function* () {
      const original = yield* withPaths(["/health", "/health_generate", "/generate", "/bridge/info", "/lora/load"])
      const backend = yield* backendOf(original.url)
      const [choice] = yield* quiet(backend.tokens({ inputIds }))
      assert.deepStrictEqual([choice!.tokens, choice!.sampling?.logprobs], [[7], "raw"])
      assert.deepStrictEqual([backend.identity?.kind, backend.capabilities.promptLogprobs], ["patched", false])
      const chats = ["/v1/chat/completions", "/v1/responses", "/v1/audio/transcriptions", "/v1/models", "/health"]
      const old = yield* backendOf((yield* withPaths(chats)).url)
      yield* quiet(old.identify ?? Effect.void)
      assert.strictEqual(old.identity?.kind, "transformers")
    })
  )

  it("what logprobs are of shows in the likeliest token's at two temperatures", () => {
    assert.strictEqual(modeOf(0, 0), "processed")
    assert.strictEqual(modeOf(-0.2, -0.2), "raw")
    assert.strictEqual(modeOf(-0.05, -0.4), "tempered")
    assert.isUndefined(modeOf(-0.4, -0.05))
    assert.isUndefined(modeOf(undefined, -0.05))
  })
})
