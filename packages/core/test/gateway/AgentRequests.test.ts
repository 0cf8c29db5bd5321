/**
 * Requests as coding agents sent them (`fixtures/agents`: long texts are cut, schemas of tools are empty): each is
 * answered, and the parameters that are ignored are counted.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import * as TestGateway from "./TestGateway.ts"

const folder = new URL("../fixtures/agents/", import.meta.url)

interface Recorded {
  readonly scenario: string
  readonly path: string
  readonly body: { readonly [parameter: string]: unknown }
}

const requestsOf = (file: string): ReadonlyArray<Recorded> =>
  readFileSync(new URL(file, folder), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded)

/** The names that are counted for each agent, in all its requests. */
const ignored: { readonly [file: string]: ReadonlyArray<string> } = {
  "claude-agent-acp.jsonl": [
    "metadata",
    "output_config.effort",
    "text.cache_control",
    "thinking",
    "tool_result.cache_control"
  ],
  "claude-code.jsonl": [
    "context_management.clear_thinking_20251015",
    "metadata",
    "output_config.effort",
    "text.cache_control",
    "thinking",
    "tool_result.cache_control",
    "tools.defer_loading"
  ],
  "codex-known-model.jsonl": [
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning.context",
    "reasoning.effort",
    "text.verbosity",
    "tools.format"
  ],
  "codex.jsonl": ["client_metadata", "prompt_cache_key", "tools.web_search"],
  "opencode.jsonl": ["text.cache_control", "tool_result.cache_control", "tool_use.cache_control"],
  "pi.jsonl": ["prompt_cache_key", "store", "text.cache_control", "tool_result.cache_control", "tools.cache_control"],
  "qwen-code.jsonl": []
}

describe("a recorded request of a coding agent", () => {
  it("is there for each of them", () => {
    assert.deepStrictEqual(readdirSync(folder).toSorted(), Object.keys(ignored).toSorted())
  })

  for (const [file, names] of Object.entries(ignored)) {
    it.live(`is answered, with the parameters that are ignored counted: ${file}`, () =>
      Effect.suspend(() => {
        let answers = 0
        return TestGateway.use({ script: () => `Done ${answers++}.` }, ({ gateway, log }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            for (const { body, path, scenario } of requestsOf(file)) {
              const { status, text } = yield* TestGateway.post(`${session.anthropicBaseURL}${path}`, body)
              assert.strictEqual(status, 200, `${scenario}: ${text}`)
            }
            assert.deepStrictEqual(Object.keys((yield* session.counts).ignored).toSorted(), names.toSorted())
            const { adapted } = yield* session.counts
            assert.deepStrictEqual(adapted, file === "claude-code.jsonl" ? { image_as_text: 1 } : {})
            yield* TestGateway.assertExact(session, log)
          })
        )
      })
    )
  }
})
