/**
 * Writes a group as the wire's JSON in chunks: all keys in the original's order, null if absent.
 *
 * A chunk is at most a quarter of a mebibyte of numbers (a few milliseconds of work), so that the writer of a large
 * group can yield in between. The group's numbers must be finite.
 */
import * as ExactJson from "../../base/json/ExactJson.ts"
import type { LabelledGroup } from "./LabelledGroup.ts"
import { maxBytes, writeFloat32, writeInteger, writeNumber } from "./NumberWriter.ts"

const pieceBytes = 256 * 1024
/** Capacity for text between two checks of the remaining space. */
const slack = 64 * 1024
const numbersAtOnce = 2048
const comma = 0x2c
const open = 0x5b
const close = 0x5d

const encoder = new TextEncoder()

type Numbers = Int32Array | Float32Array | Float64Array

const count = (matrix: ReadonlyArray<Numbers> | undefined): number =>
  matrix?.reduce((sum, { length }) => sum + length, 0) ?? 0

/** Estimated bytes of the numbers. */
const guess = (group: LabelledGroup): number => {
  const floats = [group.advantages, group.refLogprobs, group.inferenceLogprobs, [group.scores]]
  return 7 * (count(group.tokens) + count(group.masks)) + 11 * floats.reduce((sum, one) => sum + count(one), 0)
}

export function* pieces(group: LabelledGroup): Generator<Uint8Array<ArrayBuffer>, void> {
  let bytes = new Uint8Array(Math.min(pieceBytes, guess(group)) + slack)
  let at = 0

  /** Ensures space for `needed` bytes; yields the full chunk. */
  function* room(needed: number) {
    if (at + needed <= bytes.length) return
    if (at > 0) yield bytes.subarray(0, at)
    bytes = new Uint8Array(Math.max(needed, pieceBytes + slack))
    at = 0
  }

  function* text(value: string) {
    // UTF-8 takes at most three bytes per UTF-16 unit.
    if (value.length * 3 <= slack) {
      yield* room(value.length * 3)
      at += encoder.encodeInto(value, bytes.subarray(at)).written
    } else {
      const whole = encoder.encode(value)
      yield* room(whole.length)
      bytes.set(whole, at)
      at += whole.length
    }
  }

  function* row(numbers: Numbers) {
    yield* room(2)
    bytes[at++] = open
    for (let from = 0; from < numbers.length; from += numbersAtOnce) {
      const until = Math.min(numbers.length, from + numbersAtOnce)
      yield* room((until - from) * (maxBytes + 1) + 1)
      at = writeRun(bytes, at, numbers, from, until)
    }
    bytes[at++] = close
  }

  function* nested<A>(
    items: ReadonlyArray<A> | undefined,
    write: (item: A) => Generator<Uint8Array<ArrayBuffer>, void>
  ) {
    if (items === undefined) return yield* text("null")
    yield* room(2)
    bytes[at++] = open
    for (const [index, item] of items.entries()) {
      if (index > 0) {
        yield* room(1)
        bytes[at++] = comma
      }
      yield* write(item)
    }
    yield* room(1)
    bytes[at++] = close
  }

  const matrix = (rows: ReadonlyArray<Numbers> | undefined) => nested(rows, row)
  const free = (value: unknown) => text(value === undefined ? "null" : (ExactJson.write(value) ?? "null"))

  yield* text('{"tokens":')
  yield* matrix(group.tokens)
  yield* text(',"masks":')
  yield* matrix(group.masks)
  yield* text(',"scores":')
  yield* row(group.scores)
  yield* text(',"advantages":')
  yield* matrix(group.advantages)
  yield* text(',"ref_logprobs":')
  yield* matrix(group.refLogprobs)
  yield* text(',"messages":')
  yield* free(group.messages)
  yield* text(',"generation_params":')
  yield* free(group.generationParams)
  yield* text(',"inference_logprobs":')
  yield* matrix(group.inferenceLogprobs)
  yield* text(',"overrides":')
  yield* free(group.overrides)
  yield* text(',"group_overrides":')
  yield* free(group.groupOverrides)
  yield* text(',"images":')
  yield* free(group.images)
  yield* text(',"env_id":')
  yield* free(group.envId)
  yield* text(',"distill_token_ids":')
  yield* nested(group.distillTokenIds, matrix)
  yield* text(',"distill_logprobs":')
  yield* nested(group.distillLogprobs, matrix)
  yield* text("}")
  yield bytes.subarray(0, at)
}

/** One loop per number type: a shared one would call its writer indirectly, at three times the cost. */
const writeRun = (bytes: Uint8Array, from: number, numbers: Numbers, first: number, until: number): number => {
  let at = from
  if (numbers instanceof Int32Array) {
    for (let index = first; index < until; index++) {
      if (index > 0) bytes[at++] = comma
      at = writeInteger(bytes, at, numbers[index]!)
    }
  } else if (numbers instanceof Float32Array) {
    for (let index = first; index < until; index++) {
      if (index > 0) bytes[at++] = comma
      at = writeFloat32(bytes, at, numbers[index]!)
    }
  } else {
    for (let index = first; index < until; index++) {
      if (index > 0) bytes[at++] = comma
      at = writeNumber(bytes, at, numbers[index]!)
    }
  }
  return at
}
