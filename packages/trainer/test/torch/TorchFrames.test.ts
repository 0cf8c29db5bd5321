import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TorchFrames from "../../src/torch/TorchFrames.ts"

const Case = Schema.Struct({
  answers: Schema.Array(Schema.Struct({ text: Schema.String, values: Schema.Array(Schema.Finite) })).check(
    Schema.isMaxLength(5)
  ),
  cut: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }))
})

describe("frames", () => {
  it.prop("come out as they went in, wherever their bytes are cut", [Case], ([{ answers, cut }]) => {
    const parts = answers.flatMap(({ text, values }, id) =>
      TorchFrames.encode({ id, text }, { a: Float32Array.from(values), empty: new Float32Array() })
    )
    const bytes = Buffer.concat(parts)
    const found: Array<TorchFrames.Answer> = []
    const read = TorchFrames.decoder((answer) => found.push(answer))
    for (let at = 0; at < bytes.length; at += cut) read(bytes.subarray(at, at + cut))
    assert.deepStrictEqual(
      found.map(({ header, tensors }) => [header["id"], header["text"], tensors]),
      answers.map(({ text, values }, id) => [id, text, { a: Float32Array.from(values), empty: new Float32Array() }])
    )
  })
})
