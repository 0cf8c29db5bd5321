import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { SavedTrajectory } from "../../src/service/SavedTrajectory.ts"

const encode = Schema.encodeSync(SavedTrajectory)
const decode = Schema.decodeUnknownSync(SavedTrajectory)

const trajectory = {
  messages: [
    { role: "user", content: "1 + 1?" },
    { role: "assistant", content: "2" }
  ],
  completion: "2",
  finishReason: "stop",
  // Views into a larger buffer, as decoders make them.
  tokens: Int32Array.of(9, 1, 2, 151_643).subarray(1),
  mask: Uint8Array.of(0, 0, 1, 1).subarray(1),
  logprobs: Float32Array.of(7, NaN, -0.5, -0.25).subarray(1),
  policyVersion: 3
}

describe("SavedTrajectory", () => {
  it("comes back from JSON as it was", () => {
    const { logprobs: _, policyVersion: __, ...plain } = trajectory
    for (const one of [trajectory, plain, { ...plain, tokens: new Int32Array(), mask: new Uint8Array() }]) {
      assert.deepStrictEqual<unknown>(decode(JSON.parse(JSON.stringify(encode(one)))), one)
    }
  })

  it("refuses what is cut off or no trajectory", () => {
    const saved = encode(trajectory) as { readonly tokens: string }
    assert.throws(() => decode({ ...saved, tokens: saved.tokens.slice(0, 6) }), /the same length/)
    assert.throws(() => decode({ ...saved, tokens: [1, 2] }))
    assert.throws(() => decode("2"))
  })
})
