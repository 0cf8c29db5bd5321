import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Fixtures from "./Fixtures.ts"

const bits = (value: number): number => new Uint32Array(Float32Array.of(value).buffer)[0]!

/** The float of a bfloat16. */
const widened = (half: number): number => new Float32Array(Uint32Array.of(half << 16).buffer)[0]!

describe("toBfloat16", () => {
  it.prop("takes the nearest, and of two equally near ones the even", [Schema.Finite], ([x]) => {
    const value = Math.fround(x)
    const [half] = Safetensors.toBfloat16(Float32Array.of(value))
    const found = widened(half!)
    const below = widened(bits(value) >>> 16)
    const above = widened((bits(value) >>> 16) + 1)
    if (!Number.isFinite(value) || !Number.isFinite(above)) return
    const distance = Math.abs(found - value)
    assert.isAtMost(distance, Math.abs(below - value))
    assert.isAtMost(distance, Math.abs(above - value))
    if (Math.abs(below - value) === Math.abs(above - value) && below !== above) assert.strictEqual(half! & 1, 0)
  })

  it("rounds ties to even, keeps infinities and not-a-number", () => {
    // 1 + 2^-8 lies between 1 and 1 + 2^-7, 1 + 3 · 2^-8 between 1 + 2^-7 and 1 + 2^-6.
    const given = Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8, Infinity, -Infinity, NaN, 3.4e38, -0)
    const found = Array.from(Safetensors.toBfloat16(given), widened)
    assert.deepStrictEqual(found, [1, 1 + 2 ** -6, Infinity, -Infinity, NaN, Infinity, -0])
    // A NaN whose upper half is that of infinity.
    const [half] = Safetensors.toBfloat16(new Float32Array(Uint32Array.of(0x7f800001).buffer))
    assert.isNaN(widened(half!))
  })
})

/** A file with this head, then `data` bytes. */
const fileOf = (head: unknown, data = 8, headLength?: bigint): Uint8Array => {
  const text = new TextEncoder().encode(typeof head === "string" ? head : JSON.stringify(head))
  const bytes = new Uint8Array(8 + text.length + data)
  new DataView(bytes.buffer).setBigUint64(0, headLength ?? BigInt(text.length), true)
  bytes.set(text, 8)
  return bytes
}

const tensor = (dtype: string, shape: ReadonlyArray<unknown>, from: number, to: number) => ({
  dtype,
  shape,
  data_offsets: [from, to]
})

const hostile: ReadonlyArray<readonly [string, Uint8Array, RegExp]> = [
  ["an empty file", new Uint8Array(0), /it has 0 bytes/],
  ["a head longer than the file", fileOf({}, 8, 4096n), /its header length is 4096 bytes/],
  ["a head of 2^64 - 1 bytes", fileOf({}, 8, 2n ** 64n - 1n), /its header length is 18446744073709552000 bytes/],
  ["a head that is not JSON", fileOf("{]"), /not a JSON object/],
  ["a head that is a list", fileOf([]), /not a JSON object/],
  ["an entry without a place", fileOf({ a: { dtype: "F32", shape: [2] } }), /a lacks dtype, shape or offsets/],
  ["a negative size", fileOf({ a: tensor("F32", [-2], 0, 8) }), /a lacks dtype, shape or offsets/],
  ["a broken size", fileOf({ a: tensor("F32", [0.5], 0, 2) }), /a lacks dtype, shape or offsets/],
  ["an unknown type", fileOf({ a: tensor("F8_E4M3", [8], 0, 8) }), /a has the unknown dtype F8_E4M3/],
  ["sizes whose product overflows", fileOf({ a: tensor("F32", [2 ** 52, 2 ** 52], 0, 8) }), /its offsets span 8/],
  ["a place of another length", fileOf({ a: tensor("F32", [2], 0, 4) }), /needs 8 bytes, but its offsets span 4/],
  ["a place that ends before it begins", fileOf({ a: tensor("F32", [1], 8, 4) }), /its offsets span -4/],
  ["a place beyond the file", fileOf({ a: tensor("F32", [4], 0, 16) }), /incomplete file/],
  ["places that overlap", fileOf({ a: tensor("F32", [2], 0, 8), b: tensor("F32", [1], 4, 8) }), /tensors overlap at/]
]

layer(NodeServices.layer)("Safetensors", (it) => {
  it.effect.each(hostile)("refuses %s", ([, bytes, reason]) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = `${yield* fs.makeTempDirectoryScoped()}/hostile.safetensors`
      yield* fs.writeFile(path, bytes)
      const error = yield* Effect.flip(Safetensors.head(path))
      assert.strictEqual(error._tag, "ModelError")
      assert.strictEqual(error.reason, "damaged")
      assert.match(error.message, reason)
      assert.include(error.message, path)
    }).pipe(Effect.scoped)
  )

  it.effect.prop(
    "reads what it wrote, in either type",
    [Schema.Array(Schema.Array(Schema.Finite).check(Schema.isMaxLength(9))).check(Schema.isMaxLength(4))],
    ([vectors]) =>
      Effect.gen(function* () {
        const path = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/written.safetensors`
        const tensors = vectors.map((vector, i) => ({
          name: `tensor ${i} "é"`,
          shape: [1, vector.length],
          values: Float32Array.from(vector)
        }))
        for (const type of ["F32", "BF16"] as const) {
          yield* Safetensors.write(path, tensors, type)
          const { tensors: found } = yield* Safetensors.head(path)
          assert.strictEqual(found.size, tensors.length)
          for (const { name, shape, values } of tensors) {
            const entry = found.get(name)!
            assert.deepStrictEqual(entry.shape, shape)
            const stored = type === "F32" ? values : Float32Array.from(Safetensors.toBfloat16(values), widened)
            assert.deepStrictEqual(yield* Safetensors.floats(entry), stored)
          }
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 20 } }
  )

  it.effect("reads and writes tensors of millions of elements, and keeps the order", () =>
    Effect.gen(function* () {
      const path = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/large.safetensors`
      // Exact in bfloat16; no period divides a power of two.
      const values = new Float32Array(2 ** 21 + 3).map((_, at) => at % 251)
      for (const type of ["F32", "BF16"] as const) {
        yield* Safetensors.write(path, [{ name: "x", shape: [values.length], values }], type)
        const found = yield* Safetensors.floats((yield* Safetensors.head(path)).tensors.get("x")!)
        assert.strictEqual(Fixtures.maxDifference(found, values), 0)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("reads f16 and bf16 files that Python wrote", () =>
    Effect.gen(function* () {
      const { tensors } = yield* Safetensors.head(`${Fixtures.folder("smollm")}/model.safetensors`)
      const norm = tensors.get("model.norm.weight")!
      assert.strictEqual(norm.dtype, "F16")
      const values = yield* Safetensors.floats(norm)
      assert.strictEqual(values.length, 36)
      // Each is a half float near 1.
      for (const value of values) assert.strictEqual(new Float16Array([value])[0], value)
      assert.closeTo(values.reduce((sum, x) => sum + x, 0) / 36, 1, 0.3)
    })
  )
})
