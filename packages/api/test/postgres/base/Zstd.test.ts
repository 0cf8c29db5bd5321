/** Contexts of zstd that are used again. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as Zstd from "../../../src/postgres/base/Zstd.ts"

/** Of the contexts that compress. */
const bufferBytes = 128 * 1024
const emptyFrame = 9

describe("Zstd", () => {
  it.effect("reads every frame whole, also after one that ended with its context's buffer", () =>
    Effect.gen(function* () {
      const { compress, decompress } = Zstd.make()
      const frames: Array<readonly [Uint8Array, Uint8Array]> = []
      let written = 0
      const frameOf = Effect.fnUntraced(function* (size: number) {
        const bytes = randomBytes(size)
        const frame = yield* compress(bytes)
        frames.push([bytes, frame])
        written += frame.length
        return frame.length - size
      })
      // Random bytes do not get fewer: what is beside them in a frame of about that size is known after one.
      yield* frameOf(100_000)
      for (let i = 0; i < 32; i++) yield* frameOf(900)
      const beside = yield* frameOf(900)
      const besideLast = yield* frameOf(bufferBytes - written - beside)
      assert.strictEqual(besideLast, beside + emptyFrame)
      for (let i = 0; i < 4; i++) yield* frameOf(1000)
      for (let round = 0; round < 3; round++) {
        for (const [bytes, frame] of frames) assert.isTrue(Buffer.from(bytes).equals(yield* decompress(frame)))
      }
    })
  )
})
