import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as Codec from "../../../src/postgres/base/Codec.ts"

describe("Codec", () => {
  it.live("gives back what it was given, many at a time, from nothing to megabytes", () =>
    Effect.gen(function* () {
      const sizes = Array.from(
        { length: 120 },
        (_, i) => [0, 1, 511, 512, 513, 65_536, 150_000, 163_840, 2_000_000][i % 9]! + i
      )
      const payloads = sizes.map((size, i) => {
        // Half of them compress well, half not at all.
        const bytes = i % 2 === 0 ? Buffer.alloc(size, `payload ${i} `) : randomBytes(size)
        return { format: i % 3 === 0 ? ("packed" as const) : ("json" as const), bytes }
      })
      for (let round = 0; round < 2; round++) {
        const stored = yield* Effect.forEach(payloads, Codec.encode, { concurrency: "unbounded" })
        const read = yield* Effect.forEach(stored, Codec.decode, { concurrency: 16 })
        for (const [i, { bytes, format }] of read.entries()) {
          assert.strictEqual(format, payloads[i]!.format)
          assert.isTrue(Buffer.from(bytes).equals(payloads[i]!.bytes), `payload ${i} of ${sizes[i]} bytes`)
        }
      }
    })
  )
})
