import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import * as ExactJson from "../../src/base/json/ExactJson.ts"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"
import * as WireGroup from "../../src/service/WireGroup.ts"
import type * as ScoredGroup from "../../src/trajectory/ScoredGroup.ts"

const full: ScoredGroup.ScoredGroup = {
  tokens: [Int32Array.of(1, 2, 0x7fff_ffff), new Int32Array()],
  masks: [Uint8Array.of(0, 1, 1), new Uint8Array()],
  scores: Float64Array.of(0.1, -3.4e38),
  advantages: [Float32Array.of(0.5), Float32Array.of(1, 2)],
  refLogprobs: [Float32Array.of(-1, -2, -3), new Float32Array()],
  inferenceLogprobs: [Float32Array.of(NaN, -0.25, -3), new Float32Array()],
  messages: [[{ role: "user", content: "é" }], []],
  generationParams: { temperature: 0.7 },
  overrides: [{ set_advantage_to_zero: true }, {}],
  rewards: [{ correct: 1, format: 0.5 }, {}],
  groupOverrides: { sft: true },
  images: ["data:"],
  envId: 3,
  distillTokenIds: [[new Int32Array(), Int32Array.of(5, 6)], []],
  distillLogprobs: [[new Float32Array(), Float32Array.of(-0.5, -1)], []],
  policyVersions: [4, null],
  versionRuns: [Int32Array.of(1, 4, 2, 5), new Int32Array()],
  itemId: "0123456789abcdef",
  solved: [true, false],
  timings: [
    {
      turns: [
        { asked: 0, sent: 3, answered: 4 },
        { asked: 5, sent: 5, answered: 0x7fff_ffff }
      ],
      calls: [{ from: 4, to: 5, title: "Run tests", kind: "execute", status: "failed", text: "“1” failed\n" }],
      scored: { from: 5, to: 6 }
    },
    null
  ]
}
const minimal: ScoredGroup.ScoredGroup = { tokens: [], masks: [], scores: new Float64Array() }

const error = (result: Result.Result<unknown, PackedGroup.PackedGroupError>) => {
  assert(Result.isFailure(result))
  return result.failure
}

describe("PackedGroup", () => {
  it("survives a round trip bit for bit", () => {
    for (const group of [full, minimal]) {
      assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group))), group)
    }
  })

  it("keeps numbers and key order of arguments that are an object, from either wire", () => {
    const call = '{"function":{"name":"f","arguments":{"id":1234567890123456789,"x":1.0,"b":1,"10":-0}}}'
    const messages = `[[{"role":"assistant","content":null,"tool_calls":[${call}]}]]`
    const json = `{"tokens":[[1]],"masks":[[1]],"scores":[1.0],"messages":${messages}}`
    const { value } = Result.getOrThrow(WireGroup.parse(new TextEncoder().encode(json)))
    const packed = PackedGroup.encode(Result.getOrThrow(WireGroup.decode(value)))
    const group = Result.getOrThrow(PackedGroup.decode(packed))
    for (const one of [group, Result.getOrThrow(SavedGroup.parse(json)).group]) {
      assert.strictEqual(ExactJson.write(one.messages), messages)
      assert.include(SavedGroup.encode(one), `"messages":${messages},`)
    }
    assert.deepStrictEqual(group.scores, Float64Array.of(1))
  })

  it("decodes from any offset, as views where the alignment allows", () => {
    const packed = PackedGroup.encode(full)
    for (const offset of [0, 1, 8]) {
      const buffer = new Uint8Array(packed.length + 16)
      buffer.set(packed, offset)
      const group = Result.getOrThrow(PackedGroup.decode(buffer.subarray(offset, offset + packed.length)))
      assert.deepStrictEqual(group, full)
      assert.strictEqual(group.tokens[0]?.buffer === buffer.buffer, offset % 8 === 0)
    }
  })

  it("decodes from anywhere in a Node buffer, whose slices are views", () => {
    const packed = PackedGroup.encode(full)
    for (let offset = 0; offset < 9; offset++) {
      const whole = Buffer.alloc(packed.length + 16)
      whole.set(packed, offset)
      const group = Result.getOrThrow(PackedGroup.decode(whole.subarray(offset, offset + packed.length)))
      assert.deepStrictEqual(group, full, `offset ${offset}`)
      assert.deepStrictEqual(new Uint8Array(whole.subarray(offset, offset + packed.length)), packed)
    }
  })

  it("has an error for invalid calls of tools, or other than one list for each sequence", () => {
    const call = full.timings![0]!.calls![0]!
    for (const calls of [[{ ...call, from: -1 }], [{ ...call, title: 1 } as never], [null as never]]) {
      const timings = [{ ...full.timings![0]!, calls }, null]
      assert.strictEqual(error(PackedGroup.decode(PackedGroup.encode({ ...full, timings }))).field, "rest.calls")
    }
    const text = Buffer.from(PackedGroup.encode(full)).toString("latin1")
    const odd = Buffer.from(text.replace("}],null]}", "}]     ]}"), "latin1")
    assert.strictEqual(error(PackedGroup.decode(odd)).field, "rest.calls")
  })

  it("names the field that breaks a rule", () => {
    const decode = (change: Partial<ScoredGroup.ScoredGroup>) =>
      error(PackedGroup.decode(PackedGroup.encode({ ...full, ...change })))
    assert.strictEqual(decode({ tokens: [Int32Array.of(1, -2, 3), new Int32Array()] }).field, "tokens.0.1")
    for (const score of [NaN, Infinity, 1e39, -Number.MAX_VALUE]) {
      assert.strictEqual(decode({ scores: Float64Array.of(1, score) }).field, "scores.1")
    }
    assert.strictEqual(decode({ scores: Float64Array.of(1) }).field, "scores")
    assert.strictEqual(decode({ masks: [Uint8Array.of(1), new Uint8Array()] }).field, "masks.0")
    assert.strictEqual(
      decode({ inferenceLogprobs: [Float32Array.of(1, 2, Infinity), new Float32Array()] }).field,
      "inferenceLogprobs.0.2"
    )
    assert.strictEqual(
      decode({ inferenceLogprobs: [Float32Array.of(1), new Float32Array()] }).field,
      "inferenceLogprobs.0"
    )
    assert.strictEqual(decode({ overrides: [{}] }).field, "overrides")
    assert.strictEqual(decode({ policyVersions: [1] }).field, "policyVersions")
  })

  it("says of other bytes what they are not", () => {
    assert.include(error(PackedGroup.decode(new Uint8Array(3))).message, "too few")
    assert.include(
      error(PackedGroup.decode(new TextEncoder().encode('{"tokens": [[1]]}'))).message,
      "not the beginning of"
    )
    const newer = PackedGroup.encode(full)
    newer[4] = 2
    assert.include(error(PackedGroup.decode(newer)).message, "version 2")
    assert.include(error(PackedGroup.decode(PackedGroup.encodeList([]))).message, "not the beginning of")
  })

  const packed = PackedGroup.encode(full)

  it("refuses every truncation", () => {
    for (let length = 0; length < packed.length; length++) {
      assert(Result.isFailure(PackedGroup.decode(packed.subarray(0, length))))
    }
  })

  it.prop(
    "never throws on damaged bytes, and what it still decodes keeps the rules",
    [Arbitrary.array(Arbitrary.schema(Schema.Natural), { maxLength: 8 })],
    ([damage]) => {
      const bytes = packed.slice()
      for (const [i, value] of damage.entries()) bytes[(value * 31 + i * 7) % bytes.length] = value & 0xff
      const decoded = PackedGroup.decode(bytes)
      if (Result.isSuccess(decoded)) assert(Result.isSuccess(PackedGroup.check(decoded.success)))
      PackedGroup.decodeList(bytes)
    },
    { arbitrary: { runs: 500 } }
  )

  it("keeps several groups with their keys in one body", () => {
    const items = [
      { key: "a", bytes: packed },
      { key: "é", bytes: PackedGroup.encode(minimal) }
    ]
    const list = Result.getOrThrow(PackedGroup.decodeList(PackedGroup.encodeList(items)))
    assert.deepStrictEqual(
      list.map(({ bytes, key }) => [key, Result.getOrThrow(PackedGroup.decode(bytes))]),
      [
        ["a", full],
        ["é", minimal]
      ]
    )
    assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decodeList(PackedGroup.encodeList([]))), [])
    const body = PackedGroup.encodeList(items)
    for (let length = 0; length < body.length - 8; length++) error(PackedGroup.decodeList(body.subarray(0, length)))
  })
})
