import { assert, describe, it } from "@effect/vitest"
import { create } from "@bufbuild/protobuf"
import { Effect, Schema } from "effect"
import * as Binary from "../../src/tinker/protocol/Binary.ts"
import * as ForwardBackward from "../../src/tinker/protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../../src/tinker/protocol/ForwardBackwardResult.ts"
import { ElementType, ForwardBackwardOutputSchema, TensorSchema } from "../../src/tinker/protocol/gen/tinker_pb.ts"
import * as SampleAnswer from "../../src/tinker/protocol/SampleAnswer.ts"
import * as Tensor from "../../src/tinker/protocol/Tensor.ts"

const int32 = Schema.Int.check(Schema.isBetween({ minimum: -0x8000_0000, maximum: 0x7fff_ffff }))

const message = (dense: ArrayBufferView, dtype: ElementType, shape: ReadonlyArray<number>) =>
  create(TensorSchema, {
    encoding: { case: "dense", value: Tensor.bytesOf(dense) },
    dtype,
    shape: shape.map(BigInt)
  })

const wide = (...numbers: ReadonlyArray<number>) => Tensor.bytesOf(BigInt64Array.from(numbers, BigInt))

describe("Tensor", () => {
  it.effect.prop("reads the whole numbers it wrote", [Schema.Array(int32)], ([numbers]) =>
    Effect.gen(function* () {
      const values = Int32Array.from(numbers)
      assert.deepStrictEqual(yield* Tensor.read(Tensor.write(Tensor.row(values)), "t"), Tensor.row(values))
    })
  )

  it.effect.prop("reads the real numbers it wrote", [Schema.Array(Schema.Finite)], ([numbers]) =>
    Effect.gen(function* () {
      const values = Float32Array.from(numbers)
      assert.deepStrictEqual(yield* Tensor.read(Tensor.write(Tensor.row(values)), "t"), Tensor.row(values))
    })
  )

  it.effect("reads numbers that begin anywhere in a buffer of Node's", () =>
    Effect.gen(function* () {
      const bytes = Buffer.concat([Buffer.of(1), Tensor.bytesOf(Float32Array.of(1, 2))]).subarray(1)
      assert.deepStrictEqual(yield* Tensor.readNumbers(bytes, ElementType.FLOAT32, "t"), Float32Array.of(1, 2))
    })
  )

  it.effect("takes a bfloat16 for the upper half of a float32", () =>
    Effect.gen(function* () {
      const halves = Uint16Array.of(0x3f80, 0xc000, 0x4049)
      const { values } = yield* Tensor.read(message(halves, ElementType.BFLOAT16, [3]), "t")
      assert.deepStrictEqual([...values], [1, -2, 3.140625])
    })
  )

  it.effect("fills compressed rows", () =>
    Effect.gen(function* () {
      const rows = { values: wide(7, 8, 9), crowIndices: wide(0, 2, 2, 3), colIndices: wide(0, 2, 1) }
      const sparse = create(TensorSchema, {
        encoding: { case: "sparseCsr", value: { $typeName: "tinker.CompressedRows", ...rows } },
        dtype: ElementType.INT64,
        shape: [3n, 3n]
      })
      const { values } = yield* Tensor.read(sparse, "t", -1)
      assert.deepStrictEqual([...values], [7, -1, 8, -1, -1, -1, -1, 9, -1])
    })
  )

  it.effect.each([
    ["an id beyond 32 bits", message(BigInt64Array.of(1n << 40n), ElementType.INT64, [1]), /does not fit 32 bits/],
    ["half an element", message(new Uint8Array(6), ElementType.INT32, [1]), /not a whole number of int32/],
    ["another shape", message(new Float32Array(3), ElementType.FLOAT32, [2, 2]), /3 elements, but the shape \(2, 2\)/],
    ["a huge shape", message(new Float32Array(1), ElementType.FLOAT32, [1e9, 1e9]), /has the shape/],
    ["a negative shape", message(new Float32Array(1), ElementType.FLOAT32, [-1]), /has the shape/],
    ["no type", message(new Float32Array(1), ElementType.UNSPECIFIED, [1]), /unknown type/],
    ["nothing", create(TensorSchema, {}), /is empty/]
  ] as const)("refuses %s", ([, tensor, expected]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Tensor.read(tensor, "target_tokens of datum 3"))
      assert.match(error.message, expected)
      assert.match(error.message, /target_tokens of datum 3/)
    })
  )
})

const anyBytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))

describe("binary messages", () => {
  it.effect.prop("of any bytes are read or refused, never a defect", [anyBytes], ([bytes]) =>
    Effect.gen(function* () {
      const message = Uint8Array.from(bytes)
      for (const read of [
        Effect.asVoid(ForwardBackward.decode(message)),
        Effect.asVoid(ForwardBackwardResult.decode(message)),
        Effect.asVoid(SampleAnswer.decode(message))
      ]) {
        const result = yield* Effect.exit(read)
        assert.isTrue(result._tag === "Success" || result.cause.reasons.every(({ _tag }) => _tag === "Fail"))
      }
    })
  )

  it.effect("whose offsets lie outside their data are refused", () =>
    Effect.gen(function* () {
      const output = create(ForwardBackwardOutputSchema, {
        lossFnOutputs: [
          {
            fields: {
              logprobs: {
                data: new Uint8Array(8),
                offsets: Tensor.bytesOf(BigInt64Array.of(0n, 16n)),
                dtype: ElementType.FLOAT32
              }
            },
            numDatums: 1n
          }
        ]
      })
      const error = yield* Effect.flip(ForwardBackwardResult.decode(Binary.encode(ForwardBackwardOutputSchema, output)))
      assert.match(error.message, /row 0 of logprobs lies outside its 8 bytes/)
    })
  )
})
