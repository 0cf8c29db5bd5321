import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as ContentId from "../../src/base/ContentId.ts"

const turned = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(turned)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, one]) => [key, turned(one)])
        )
      : value

describe("an id of a content", () => {
  it.prop(
    "is the same however the content's keys are ordered, and after a way through JSON",
    [Schema.Json],
    ([given]) => {
      const id = ContentId.of(given)
      assert.match(id, /^[0-9a-f]{16}$/)
      assert.strictEqual(ContentId.of(turned(given)), id)
      assert.strictEqual(ContentId.of(JSON.parse(JSON.stringify(given))), id)
    }
  )

  it.prop("is another one for another content", [Schema.Json, Schema.Json], ([a, b]) => {
    const isSame = ContentId.canonical(a) === ContentId.canonical(b)
    assert.strictEqual(ContentId.of(a) === ContentId.of(b), isSame)
  })

  it("is that of evaluations that were saved before", () => {
    // SHA-256 of ["gsm8k","What is 9 + 9?",[],["18"]]
    assert.strictEqual(ContentId.of(["gsm8k", "What is 9 + 9?", [], ["18"]]), "132e5e2ab04e5173")
  })

  it("tells bytes, numbers and sets apart, and passes over functions", () => {
    const contents = [
      new Uint8Array([1, 2]),
      new Uint8Array([2, 1]),
      Int32Array.of(1, 2),
      Float32Array.of(1, 2),
      new Set([1, 2]),
      new Map([[1, 2]]),
      2n,
      undefined,
      {}
    ]
    assert.strictEqual(new Set(contents.map((one) => ContentId.of({ one }))).size, contents.length)
    assert.strictEqual(ContentId.of({ a: 1, check: () => true }), ContentId.of({ a: 1 }))
  })

  it("is there of what holds itself, too", () => {
    const one: { name: string; self?: unknown } = { name: "a" }
    one.self = one
    assert.match(ContentId.of(one), /^[0-9a-f]{16}$/)
    assert.notStrictEqual(ContentId.of(one), ContentId.of({ name: "b", self: one }))
  })

  it("that somebody gave is taken as it is where wires can carry it", () => {
    assert.strictEqual(ContentId.named("HumanEval/3"), "HumanEval/3")
    for (const odd of ["", "a\nb", "\u0000", "x".repeat(129), "\ud800"]) {
      assert.match(ContentId.named(odd), /^[0-9a-f]{16}$/)
    }
  })
})
