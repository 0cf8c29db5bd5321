import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import * as Connect from "../../../src/harbor/cloud/Connect.ts"

const end = (message: object): Uint8Array => {
  const bytes = Connect.envelope(message)
  bytes[0] = 2
  return bytes
}

const read = (pieces: ReadonlyArray<Uint8Array>) =>
  Effect.result(Stream.runCollect(Connect.messages(Stream.fromIterable(pieces))))

const failure = (pieces: ReadonlyArray<Uint8Array>) =>
  Effect.map(read(pieces), (result) => (Result.isFailure(result) ? result.failure.message : "read"))

describe("Connect", () => {
  it.effect.prop(
    "reads the messages of an answer, wherever its pieces end",
    [Schema.Array(Schema.String), Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })))],
    ([texts, sizes]) =>
      Effect.gen(function* () {
        const sent = texts.map((text) => ({ text }))
        const bytes = Buffer.concat([...sent.map(Connect.envelope), end({})])
        const pieces: Array<Uint8Array> = []
        for (let at = 0, index = 0; at < bytes.length; index++) {
          const size = sizes[index % Math.max(1, sizes.length)] ?? bytes.length
          pieces.push(bytes.subarray(at, (at += size)))
        }
        assert.deepStrictEqual(Result.getOrThrow(yield* read(pieces)), sent)
      })
  )

  it.effect("fails with the server's error, and where an answer breaks off or is empty", () =>
    Effect.gen(function* () {
      const refused = [Connect.envelope({ a: 1 }), end({ error: { code: "not_found", message: "no such user" } })]
      assert.strictEqual(yield* failure(refused), "a sandbox refused a call: no such user")
      assert.include(yield* failure([Connect.envelope({ a: 1 })]), "it broke off")
      assert.include(yield* failure([]), "it broke off")
      assert.include(yield* failure([Connect.envelope({ a: 1 }).subarray(0, 7)]), "it broke off")
      assert.include(yield* failure([Buffer.from("\0\0\0\0\u0002no")]), "cannot be read")
      assert.include(yield* failure([Uint8Array.of(1, 0, 0, 0, 2, 123, 125)]), "it is compressed")
      assert.include(yield* failure([Uint8Array.of(0, 255, 255, 255, 255)]), "a message of 4294967295 bytes")
    })
  )
})
