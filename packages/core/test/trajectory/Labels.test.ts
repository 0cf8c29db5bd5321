import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Labels from "../../src/trajectory/Labels.ts"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as WireGroup from "../../src/service/WireGroup.ts"

const Position = Schema.Struct({ token: Schema.Natural.check(Schema.isLessThan(2 ** 31)), isTrained: Schema.Boolean })

const maskOf = (labels: ReadonlyArray<number>, tokens = [5, 6, 7]) => [...Labels.toMask(tokens, labels)]

describe("Labels", () => {
  it("are the token where trained and -100 elsewhere, or ones and zeros that are not the tokens", () => {
    assert.deepStrictEqual(maskOf([-100, 6, -100]), [0, 1, 0])
    assert.deepStrictEqual(maskOf([0, 1, 1]), [0, 1, 1])
    assert.deepStrictEqual(maskOf([0, 0, 0]), [0, 0, 0])
    assert.deepStrictEqual(maskOf([5, 6, 7]), [1, 1, 1])
    assert.deepStrictEqual(maskOf([0, 1], [0, 1]), [1, 1])
    assert.deepStrictEqual(maskOf([-100, 1, 0], [3, 1, 0]), [0, 1, 1])
  })

  it.prop("give back the mask they were made of", [Schema.Array(Position)], ([positions]) => {
    const tokens = Int32Array.from(positions, ({ token }) => token)
    const mask = Uint8Array.from(positions, ({ isTrained }) => Number(isTrained))
    assert.deepStrictEqual(Labels.toMask(tokens, Labels.ofMask(tokens, mask)), mask)
  })

  it("have 1 for a logprob that is none", () => {
    const inside = Float32Array.of(NaN, -0.5, 0, 0.75)
    assert.deepStrictEqual(Labels.ofLogprobs(inside), Float32Array.of(1, -0.5, 0, 0.75))
    assert.deepStrictEqual(Labels.toLogprobs([1, -0.5, 0, 0.75]), inside)
  })

  it("go from wire to wire as they came, whatever they are", () => {
    const json = {
      tokens: [
        [5, 6, 7],
        [5, 6, 8]
      ],
      masks: [
        [0, 1, 1],
        [-100, 9, 8]
      ],
      scores: [1, 0],
      inference_logprobs: [
        [1, -0.5, -1],
        [1, 1, -2]
      ]
    }
    const bytes = PackedGroup.encodeLabelled(Result.getOrThrow(WireGroup.decodeLabelled(json)))
    assert.deepStrictEqual(
      Result.getOrThrow(PackedGroup.masks(bytes)),
      json.masks.map((row) => Int32Array.from(row))
    )
    const pieces = WireGroup.encodeLabelledPieces(Result.getOrThrow(PackedGroup.decodeLabelled(bytes)))
    const { inference_logprobs, masks } = JSON.parse(Buffer.concat([...pieces]).toString()) as typeof json
    assert.deepStrictEqual(
      { inference_logprobs, masks },
      { inference_logprobs: json.inference_logprobs, masks: json.masks }
    )
  })

  it("are written of a group as they were read, both on our wire and on the original's", () => {
    const json = {
      tokens: [[5, 6, 7]],
      masks: [[-100, 6, 7]],
      scores: [1],
      inference_logprobs: [[1, 1, -0.25]]
    }
    const group = Result.getOrThrow(WireGroup.decode(json))
    assert.deepStrictEqual(group.masks, [Uint8Array.of(0, 1, 1)])
    assert.deepStrictEqual(group.inferenceLogprobs, [Float32Array.of(NaN, NaN, -0.25)])
    assert.deepInclude(JSON.parse(WireGroup.encode(group)), json)
    const labelled = Result.getOrThrow(WireGroup.decodeLabelled(json))
    assert.deepStrictEqual(PackedGroup.encode(group), PackedGroup.encodeLabelled(labelled))
    assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group))), group)
  })
})
