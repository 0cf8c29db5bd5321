/**
 * The weights of each token, as vLLM 0.33 states them (`weight_versions` in its documentation and tests), by each of
 * its endpoints.
 */
import { assert, describe, it } from "@effect/vitest"
import { Message } from "@atropos/core"
import { Effect } from "effect"
import * as TestServer from "../TestServer.ts"
import { backendOf, quiet } from "./ProbedBackend.ts"

type Spans = ReadonlyArray<{ readonly version: string; readonly start: number; readonly end: number }>

const spans = (...parts: ReadonlyArray<readonly [version: string, end: number]>): Spans =>
  parts.map(([version, end], at) => ({ version, start: parts[at - 1]?.[1] ?? 0, end }))

const tokens = [97, 98, 99]
const logprobs = [-1, -2, -3]

/** Answers with three tokens and these spans, one request after another, the last of them forever. */
const serve = (answers: ReadonlyArray<Spans | undefined>, version = "0.33.0", scaleOut = true) => {
  const left = [...answers]
  return TestServer.make(
    ({ body, path }) => {
      if (path === "/v1/models") return { json: { data: [{ id: "tiny", owned_by: "vllm", max_model_len: 512 }] } }
      if (path === "/version") return { json: { version } }
      if (path === "/weight_info") return { json: { weight_version: "policy-r-v3" } }
      if (path === "/openapi.json") {
        const own = ["/weight_info", "/v1/completions", ...(scaleOut ? ["/inference/v1/generate"] : [])]
        return { json: { paths: Object.fromEntries(own.map((one) => [one, {}])) } }
      }
      const isInference = path === "/inference/v1/generate"
      if (!isInference && path !== "/v1/completions" && path !== "/v1/chat/completions") {
        return { status: 404, json: { detail: "Not Found" } }
      }
      const now = left.length > 1 ? left.shift() : left[0]
      const isStated = now !== undefined && (isInference || body["return_weight_versions"] === true)
      return {
        json: {
          choices: [
            {
              index: 0,
              finish_reason: "stop",
              token_ids: tokens,
              ...(path === "/v1/chat/completions"
                ? { message: { role: "assistant", content: "abc" } }
                : { text: "abc" }),
              logprobs:
                path === "/v1/completions"
                  ? { tokens: ["a", "b", "c"], token_logprobs: logprobs }
                  : { content: logprobs.map((logprob, at) => ({ token: "abc"[at], logprob })) },
              ...(isStated && { weight_versions: now })
            }
          ]
        }
      }
    },
    { isProbed: true }
  )
}

const settings = { logprobsMode: "processed" } as const

describe("weights of each token", () => {
  for (const [path, scaleOut] of [
    ["/inference/v1/generate", true],
    ["/v1/completions", false]
  ] as const) {
    it.live(`are read from ${path}, where they change in the middle of an answer`, () =>
      Effect.gen(function* () {
        const server = yield* serve(
          [spans(["policy-r-v3", 1], ["policy-r-v3>policy-r-v4", 2], ["policy-r-v4", 3])],
          "0.33.0",
          scaleOut
        )
        const backend = yield* backendOf(server.url, settings)
        const [choice] = yield* quiet(backend.tokens({ inputIds: [1] }))
        assert.deepStrictEqual([choice!.policyVersion, choice!.policyVersions], [3, [3, 3, 4]])
        assert.strictEqual(server.asked.at(-1)!.path, path)
        // One label, before the answer: it states the rest.
        assert.strictEqual(server.asked.filter(({ path }) => path === "/weight_info").length, 1)
      })
    )
  }

  it.live("are read from chats with exact tokens", () =>
    Effect.gen(function* () {
      const server = yield* serve([spans(["policy-r-v3", 2], ["policy-r-v5", 3])])
      const backend = yield* backendOf(server.url, settings)
      const { choices } = yield* quiet(backend.chat({ messages: [Message.user("q")], exact: true }))
      const [{ policyVersion, sampled }] = choices as [(typeof choices)[0]]
      assert.deepStrictEqual([policyVersion, sampled?.policyVersion, sampled?.policyVersions], [3, 3, [3, 3, 5]])
    })
  )

  it.live("are one version of the sequence if all tokens are of the same weights", () =>
    Effect.gen(function* () {
      const server = yield* serve([spans(["policy-r-v4", 3])])
      const backend = yield* backendOf(server.url, settings)
      const [choice] = yield* quiet(backend.tokens({ inputIds: [1] }))
      assert.deepStrictEqual([choice!.policyVersion, choice!.policyVersions], [4, undefined])
    })
  )

  it.live("are asked for again if unverified weights sampled a part of the answer", () =>
    Effect.gen(function* () {
      const server = yield* serve([spans(["policy-r-v3", 1], [">policy-r-v4", 3]), spans(["policy-r-v4", 3])])
      const backend = yield* backendOf(server.url, settings)
      const [choice] = yield* quiet(backend.tokens({ inputIds: [1] }))
      assert.strictEqual(choice!.policyVersion, 4)
      assert.strictEqual(server.asked.filter(({ path }) => path === "/inference/v1/generate").length, 2)
    })
  )

  it.live("that leave a token out make the answer malformed", () =>
    Effect.gen(function* () {
      for (const broken of [spans(["policy-r-v3", 2]), [{ version: "policy-r-v3", start: 1, end: 3 }], []]) {
        const server = yield* serve([broken])
        const backend = yield* backendOf(server.url, settings)
        const error = yield* Effect.flip(quiet(backend.tokens({ inputIds: [1] })))
        assert.strictEqual(error.reason, "malformed")
        assert.match(error.message, /3 token ids but weight_versions of/)
      }
    })
  )

  it.live("are not asked of an older server, whose label is read before and after", () =>
    Effect.gen(function* () {
      const server = yield* serve([undefined], "0.32.0", false)
      const backend = yield* backendOf(server.url, settings)
      const [choice] = yield* quiet(backend.tokens({ inputIds: [1] }))
      assert.deepStrictEqual([choice!.policyVersion, choice!.policyVersions], [3, undefined])
      assert.notProperty(server.asked.find(({ path }) => path === "/v1/completions")!.body, "return_weight_versions")
      assert.strictEqual(server.asked.filter(({ path }) => path === "/weight_info").length, 2)
    })
  )
})
