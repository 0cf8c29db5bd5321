import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as PackedPage from "../../src/rollout/PackedPage.ts"

/** What a page has of some groups, and what is read from it; through JSON, as in a page. */
const carried = (pack: (writer: PackedPage.Writer) => ReadonlyArray<unknown>) => {
  const writer = PackedPage.writer()
  const groups = pack(writer)
  const read = PackedPage.reader(JSON.parse(JSON.stringify(writer.tables())), writer.take())
  const packed: ReadonlyArray<unknown> = JSON.parse(JSON.stringify(groups))
  return { packed, groups: packed.map(read) }
}

const Ids = Schema.Array(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -300, maximum: 300_000 }))))

/** Every third token is not trained on. */
const masksOf = (rows: ReadonlyArray<ReadonlyArray<number>>) =>
  rows.map((row) => row.map((id) => (id % 3 === 0 ? -100 : id)))

describe("a packed page", () => {
  it.prop("gives ids and masks as they were, however many there are", [Ids, Ids], ([first, second]) => {
    const { groups } = carried(({ masks, tokens }) =>
      [first, second].map((rows) => ({ tokens: tokens(rows), masks: masks(masksOf(rows), rows) }))
    )
    assert.deepStrictEqual(
      groups,
      [first, second].map((rows) => ({ tokens: rows, masks: masksOf(rows) }))
    )
  })

  it("gives ids of one, two and three bytes", () => {
    const rows = [Array.from({ length: 20_000 }, (_, id) => 7 * id), [0, 7 * 16_600, 7 * 19_999, 7 * 127, 7 * 128]]
    const { groups, packed } = carried(({ tokens }) => [{ tokens: tokens(rows) }])
    assert.deepStrictEqual(groups, [{ tokens: rows }])
    assert.deepStrictEqual(packed, [{ tokens: { $ids: [0, [20_000, 5]] } }])
  })

  it.prop("gives decimals to three digits", [Schema.Array(Schema.Finite)], ([values]) => {
    const row = values.filter((value) => value === 0 || (Math.abs(value) >= 1e-12 && Math.abs(value) < 9.99e15))
    const { groups } = carried(({ decimals }) => [{ advantages: decimals([row, [-0.123456]]) }])
    // -0 is 0.
    assert.deepStrictEqual(groups, [{ advantages: [row.map((value) => Number(value.toPrecision(3)) + 0), [-0.123]] }])
  })

  it("has a code for each value of three digits, and gives it back", () => {
    for (const value of [0, 1, -1, 0.5, 9.99e15, -9.99e15, 1e-12, -1e-12, -0.000_123, 123, -45.6]) {
      const code = PackedPage.codeOf(value)
      assert.isNotNull(code)
      assert.isBelow(code, 2 ** 16)
      assert.strictEqual(PackedPage.valueOf(code), value)
    }
    assert.deepStrictEqual([1e-13, 1e16, Number.NaN, -Infinity].map(PackedPage.codeOf), [0, null, null, null])
  })

  it("leaves what cannot be packed as it is", () => {
    const group = { tokens: [[1, 2]], masks: [[0, 1]], inference_logprobs: [[-0.5, -1e20]] }
    const { packed } = carried(({ decimals, masks }) => [
      { ...group, masks: masks(group.masks, group.tokens), inference_logprobs: decimals(group.inference_logprobs) }
    ])
    assert.deepStrictEqual(packed, [group])
  })

  it("keeps a long text once, and takes nobody's words for a marker", () => {
    const picture = "data:image/png;base64,".padEnd(100_000, "iVBORw0KGgo")
    const group = {
      messages: [0, 1].map((n) => [{ role: "user", content: [{ url: picture }, { $ids: [0, [1]], $text: 0 }, n] }]),
      images: [picture, picture],
      generation_params: { $decimals: [0, [3]] }
    }
    const { groups, packed } = carried(({ texts }) => [
      { ...group, messages: texts(group.messages), images: texts(group.images) }
    ])
    assert.deepStrictEqual(groups, [group])
    assert.isBelow(JSON.stringify(packed).length, 500)
  })
})
