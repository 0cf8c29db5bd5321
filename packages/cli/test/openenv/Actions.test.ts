import { assert, describe, it } from "@effect/vitest"
import { ExactJson } from "@atropos/core"
import { Effect } from "effect"
import * as Actions from "../../src/openenv/Actions.ts"

describe("actions of OpenEnv", () => {
  for (const action of [
    '{"type": "call_tool", "tool_name": "read", "arguments": {"id": 2512292042121000001, "share": 1.0}}',
    '{"message": "", "tool_calls": [{"name": "read", "arguments": {"id": 2512292042121000001, "share": 1.0}}]}'
  ]) {
    it.effect(`keep the numbers of ${action} as they are written`, () =>
      Effect.gen(function* () {
        const read = yield* Actions.decode(ExactJson.parseWritten(action))
        const calls = "reply" in read ? read.reply.toolCalls : undefined
        assert.strictEqual(calls?.[0]?.function.arguments, '{"id":2512292042121000001,"share":1.0}')
      })
    )
  }
})
