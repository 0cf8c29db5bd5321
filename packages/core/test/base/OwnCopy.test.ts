import { assert, describe, it } from "@effect/vitest"
import * as ExactJson from "../../src/base/json/ExactJson.ts"
import * as OwnCopy from "../../src/base/system/OwnCopy.ts"

describe("a copy for foreign code", () => {
  it("has its own lists and objects, in their order, and the same of all else", () => {
    const written = '{"b":[{"c":1.0}],"1":{"__proto__":{"d":2}}}'
    const day = new Date(0)
    const value = { row: ExactJson.parseWritten(written), day, ids: Int32Array.of(1, 2), big: 5n, none: undefined }
    const copy = OwnCopy.of(value)
    assert.deepStrictEqual(copy, value)
    assert.strictEqual(ExactJson.write(copy.row), written)
    assert.strictEqual(copy.day, day)
    assert.strictEqual(copy.ids, value.ids)
    ;(copy.row as { b: Array<unknown> }).b.push(3)
    assert.strictEqual(ExactJson.write(value.row), written)
  })

  it("of what contains itself contains itself", () => {
    const value: { readonly list: Array<unknown> } = { list: [] }
    value.list.push(value)
    const copy = OwnCopy.of(value)
    assert.notStrictEqual(copy, value)
    assert.strictEqual(copy.list[0], copy)
  })
})
