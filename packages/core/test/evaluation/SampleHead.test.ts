import { assert, describe, it } from "@effect/vitest"
import * as SampleHead from "../../src/evaluation/SampleHead.ts"

const chat = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "What is 107 + 107?" },
  { role: "assistant", content: "214" }
]
const headOf = (line: object) => SampleHead.of({ item: "x", score: 1, messages: chat, ...line })

describe("SampleHead", () => {
  it("calls an item that has no name in words by what was asked", () => {
    for (const item of ["107", '{"n":107}', "[1,2]", '"a"', "true", "-3.5"]) {
      assert.strictEqual(headOf({ item })?.label, "What is 107 + 107?", item)
      // Evaluations are joined by it.
      assert.strictEqual(headOf({ item })?.item, item)
    }
    assert.strictEqual(headOf({ item: "107", messages: [] })?.label, "107")
  })

  it("keeps names in words, and an item's own label", () => {
    assert.strictEqual(headOf({ item: "Which word?" })?.label, "Which word?")
    assert.strictEqual(headOf({ item: "107", label: "doubling 107" })?.label, "doubling 107")
  })
})
