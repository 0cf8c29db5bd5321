/** What a trainer tells of its batch: as bytes, as JSON of a group, and as a saved line. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as PackedLogprobs from "../../src/service/PackedLogprobs.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"
import * as TrainedLogprobs from "../../src/service/TrainedLogprobs.ts"

const record: PackedLogprobs.RecordedLogprobs = {
  leaseToken: "a lease",
  policyVersion: 12,
  rows: [
    { group: 0, sequence: 1, from: 2, logprobs: Float32Array.of(-0.25, Number.NaN, -3.5) },
    { group: 3, sequence: 0, from: 0, logprobs: Float32Array.of(-1) }
  ]
}

const refusal = (bytes: Uint8Array) => {
  const read = PackedLogprobs.decode(bytes)
  assert.isTrue(Result.isFailure(read))
  return Result.isFailure(read) ? `${read.failure.field}: ${read.failure.message}` : ""
}

const changed = (change: Partial<PackedLogprobs.RecordedLogprobs>) => PackedLogprobs.encode({ ...record, ...change })

describe("PackedLogprobs", () => {
  it("gives back what was written, wherever the bytes begin", () => {
    const bytes = PackedLogprobs.encode(record)
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    for (const one of [bytes, shifted.subarray(3)]) {
      assert.deepStrictEqual(Result.getOrThrow(PackedLogprobs.decode(one)), record)
    }
  })

  it("refuses what is cut short, twice there, or no logprob", () => {
    const bytes = PackedLogprobs.encode(record)
    assert.match(refusal(bytes.subarray(0, bytes.length - 1)), /prelude: head and floats need more than/)
    assert.match(refusal(new Uint8Array(16)), /prelude: not the beginning of a record of logprobs/)
    assert.match(refusal(changed({ leaseToken: "" })), /^head: /)
    assert.match(refusal(changed({ policyVersion: -1 })), /^head: /)
    const [row] = record.rows
    assert.match(refusal(changed({ rows: [row!, row!] })), /head: duplicate sequence/)
    for (const wrong of [1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const odd = { ...row!, logprobs: Float32Array.of(wrong) }
      assert.match(refusal(changed({ rows: [odd] })), /floats: logprobs must be at most 0, or NaN/)
    }
  })

  it.prop("never takes other bytes for a record", [Schema.Array(Schema.Natural), Schema.Natural], ([noise, at]) => {
    const bytes = PackedLogprobs.encode(record)
    for (const [i, value] of noise.entries()) bytes[(at + 7 * i) % bytes.length] = value & 255
    const read = PackedLogprobs.decode(bytes)
    if (Result.isSuccess(read)) for (const { logprobs } of read.success.rows) assert.isAtMost(logprobs.length, 4)
  })
})

describe("TrainedLogprobs", () => {
  const trained: TrainedLogprobs.TrainedLogprobs = {
    policyVersion: 12,
    rows: [null, { from: 2, logprobs: Float32Array.of(-0.1, Number.NaN, -3.5) }]
  }

  it("comes back from the JSON of a group as it was, to the bit", () => {
    const json = JSON.parse(`{${TrainedLogprobs.toJson(trained)}}`) as { readonly [key: string]: unknown }
    assert.deepStrictEqual(TrainedLogprobs.ofJson(json, 2), trained)
    assert.deepStrictEqual(json["trainer_version"], 12)
    assert.isUndefined(TrainedLogprobs.ofJson(json, 3))
    assert.isUndefined(TrainedLogprobs.ofJson({}, 0))
  })

  it("is read from a saved line, in which its keys are known", () => {
    const group = `"tokens":[[1,2],[1,2,3,4,5]],"masks":[[-100,2],[-100,-100,3,-100,5]],"scores":[0,1]`
    const read = Result.getOrThrow(SavedGroup.parse(`{${group},${TrainedLogprobs.toJson(trained)}}`))
    assert.deepStrictEqual(read.trained, trained)
    assert.deepStrictEqual(read.unknown, [])
    const odd = Result.getOrThrow(SavedGroup.parse(`{${group},"trainer_logprobs":[["x"],[1,1]]}`))
    assert.deepStrictEqual(odd.trained, { policyVersion: null, rows: [null, null] })
  })
})
