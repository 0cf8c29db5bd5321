import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Dim, dimAdd, dimDiv, dimMul, dimNormal, dimSub, dimSymbols } from "../../src/graph/Dim.ts"
import { ShapeError } from "../../src/graph/GraphError.ts"
import { dimValue } from "./dimValue.ts"

const Term = Schema.Struct({
  count: Schema.Int.check(Schema.isBetween({ minimum: -6, maximum: 6 })),
  symbols: Schema.Array(Schema.Literals(["B", "T", "P_1"])).check(Schema.isMaxLength(3))
})
const Terms = Schema.Array(Term).check(Schema.isMaxLength(4))

const dimOf = (terms: typeof Terms.Type): Dim => dimAdd(...terms.map(({ count, symbols }) => dimMul(count, ...symbols)))

const values = { B: 4, T: 6, P_1: 35 }

describe("Dim", () => {
  it("has one spelling for equal sizes", () => {
    assert.strictEqual(dimMul("T", 2, "B"), "2*B*T")
    assert.strictEqual(dimMul(dimDiv(dimMul("B", "T"), 4), 2), "B*T/2")
    assert.strictEqual(dimDiv(dimAdd("T", "P"), 2), "(P+T)/2")
    assert.strictEqual(dimSub(dimAdd("T", 1), "T"), 1)
    assert.strictEqual(dimAdd("T", -1), "T-1")
    assert.strictEqual(dimSub(3, "T"), "-T+3")
    assert.strictEqual(dimMul("B", 0), 0)
    assert.strictEqual(dimDiv(12, 4), 3)
    assert.deepStrictEqual(dimSymbols("(2*B*T+P)/4"), ["B", "T", "P"])
  })

  it("has no value while a symbol has none", () => {
    assert.isUndefined(dimValue("B*T", { B: 2 }))
    assert.strictEqual(dimValue("(B*T-4)/4", { B: 2, T: 6 }), 2)
  })

  it("reads any spelling of a size, and refuses what is none", () => {
    assert.strictEqual(dimNormal("T*2*B"), "2*B*T")
    assert.strictEqual(dimNormal("(T+4*P+2)/2"), "(4*P+T+2)/2")
    assert.strictEqual(dimNormal("-1+T"), "T-1")
    for (const text of ["", "B*", "2B", "B/T", "B T", "B*T/4-1", "(B", "1.5*B", "B--T"]) {
      assert.throws(() => dimNormal(text), ShapeError, `"${text}" is not a valid size`)
    }
  })

  it.prop("adds and multiplies in any order", [Terms, Terms, Terms], ([a, b, c]) => {
    const [x, y, z] = [dimOf(a), dimOf(b), dimOf(c)]
    assert.strictEqual(dimAdd(x, y), dimAdd(y, x))
    assert.strictEqual(dimMul(x, y), dimMul(y, x))
    assert.strictEqual(dimAdd(dimAdd(x, y), z), dimAdd(x, dimAdd(y, z)))
    assert.strictEqual(dimMul(dimMul(x, y), z), dimMul(x, dimMul(y, z)))
    assert.strictEqual(dimMul(x, dimAdd(y, z)), dimAdd(dimMul(x, y), dimMul(x, z)))
  })

  it.prop("means what its values do", [Terms, Terms], ([a, b]) => {
    const [x, y] = [dimOf(a), dimOf(b)]
    const [m, n] = [dimValue(x, values)!, dimValue(y, values)!]
    assert.strictEqual(dimValue(dimAdd(x, y), values), m + n)
    assert.strictEqual(dimValue(dimSub(x, y), values), m - n)
    assert.strictEqual(dimValue(dimMul(x, y), values)! + 0, m * n + 0)
  })

  it.prop("undoes a division by the multiplication, and the reverse", [Terms, Terms], ([a, b]) => {
    const x = dimOf(a)
    const k = b.length + 2
    assert.strictEqual(dimMul(dimDiv(x, k), k), x)
    assert.strictEqual(dimDiv(dimMul(x, k), k), x)
    assert.strictEqual(dimSub(dimAdd(x, dimDiv(dimOf(b), k)), dimDiv(dimOf(b), k)), x)
  })

  it.prop("is in normal form already", [Terms], ([a]) => {
    const x = dimDiv(dimMul(dimOf(a), 3), 4)
    assert.strictEqual(dimAdd(x), x)
    assert.strictEqual(dimMul(x), x)
  })
})
