import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Chunks from "../../src/tinker/client/Chunks.ts"
import { byteLength, type Datum } from "../../src/tinker/protocol/ForwardBackward.ts"

const datum = (length: number): Datum => ({ tokens: new Int32Array(length), inputs: new Map() })

const lengths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })))
const limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))

const part = (count: number, value: number) => ({
  kind: "scalar",
  outputs: Array.from({ length: count }, () => new Map()),
  metrics: new Map(["a:sum", "b:mean", "c:max", "d:min", "e:slack", "f"].map((name) => [name, value]))
})

describe("Chunks", () => {
  it.prop("keep every datum in order, within both limits", [lengths, limit, limit], ([sizes, maxData, maxBytes]) => {
    const data = sizes.map(datum)
    const chunks = Chunks.cut(data, { maxData, maxBytes })
    assert.deepStrictEqual(chunks.flat(), data)
    for (const chunk of chunks) {
      assert.isTrue(chunk.length >= 1 && chunk.length <= maxData)
      const bytes = chunk.reduce((sum, each) => sum + byteLength(each), 0)
      assert.isTrue(chunk.length === 1 || bytes <= maxBytes)
    }
  })

  it("join metrics as their names say", () => {
    const { metrics } = Chunks.join([part(3, 2), part(1, 6)])
    assert.deepStrictEqual(Object.fromEntries(metrics), {
      "a:sum": 8,
      "b:mean": 3,
      "c:max": 6,
      "d:min": 2,
      "e:slack": 3,
      f: 3
    })
  })
})
