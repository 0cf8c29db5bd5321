import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxBytes, writeFloat32, writeInteger, writeNumber } from "../../../src/service/wire/NumberWriter.ts"

type Write = (bytes: Uint8Array, at: number, value: number) => number

const written = (write: Write, value: number): string => {
  const bytes = new Uint8Array(maxBytes + 2).fill(0x2a)
  const end = write(bytes, 1, value)
  assert.isAtMost(end - 1, maxBytes)
  assert.strictEqual(bytes[0], 0x2a)
  assert.strictEqual(bytes[end], 0x2a)
  return Buffer.from(bytes.subarray(1, end)).toString("latin1")
}

/** Any 32-bit float by its bits. */
const floatOfBits = (bits: number): number => new Float32Array(Uint32Array.of(bits).buffer)[0]!
const Bits = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 }))
const Int32 = Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }))

describe("NumberWriter", () => {
  it.prop("writes whole numbers as JSON does", [Int32], ([value]) => {
    assert.strictEqual(written(writeInteger, value), JSON.stringify(value))
  })

  it("writes whole numbers at the borders", () => {
    for (const value of [0, -0, 9, 10, -1, -100, 99_999, 100_000, 2 ** 31 - 1, -(2 ** 31), -(2 ** 31) + 1]) {
      assert.strictEqual(written(writeInteger, value), JSON.stringify(value))
    }
  })

  it.prop("writes any number as JSON does", [Schema.Finite], ([value]) => {
    assert.strictEqual(written(writeNumber, value), JSON.stringify(value))
  })

  it.prop("writes 32-bit floats so that they read back the same, as JSON and as short", [Bits], ([bits]) => {
    const value = floatOfBits(bits)
    if (!Number.isFinite(value)) return
    const text = written(writeFloat32, value)
    assert.strictEqual(Math.fround(Number(text)), value === 0 ? 0 : value)
    assert.strictEqual(Math.fround(JSON.parse(text) as number), value === 0 ? 0 : value)
    assert.isAtMost(text.length, String(value).length)
  })

  it.prop(
    "writes decimals of up to six digits as they were",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 999_999 })),
      Schema.Literals([1, 10, 1000, 10_000, 100_000])
    ],
    ([digits, divisor]) => {
      const value = digits / divisor
      assert.strictEqual(written(writeFloat32, Math.fround(value)), String(value))
      assert.strictEqual(written(writeFloat32, Math.fround(-value)), String(-value))
    }
  )

  it("reads back the same over the whole range of logprobs, densely", () => {
    for (let bits = 0x3580_0000; bits < 0x4b80_0000; bits += 7919) {
      const value = -floatOfBits(bits)
      assert.strictEqual(Math.fround(Number(written(writeFloat32, value))), value)
    }
  })
})
