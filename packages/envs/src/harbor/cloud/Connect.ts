/**
 * Reads and writes messages of the Connect protocol with JSON (https://connectrpc.com/docs/protocol): one byte of
 * flags, four of length, the message. The last message of an answer says if the call failed.
 */
import * as Reason from "@atropos/core/base/Reason"
import { Effect, Schema, Stream } from "effect"
import { HarborError } from "../HarborError.ts"

const compressed = 1
const last = 2

/** Longer messages are refused; a server sends output in pieces of a few KiB. */
const maxBytes = 16 * 2 ** 20

export const envelope = (message: object): Uint8Array<ArrayBuffer> => {
  const json = Buffer.from(JSON.stringify(message))
  const bytes = new Uint8Array(5 + json.length)
  new DataView(bytes.buffer).setUint32(1, json.length)
  bytes.set(json, 5)
  return bytes
}

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))
const decodeEnd = Schema.decodeUnknownEffect(
  Schema.Struct({
    error: Schema.optionalKey(
      Schema.Struct({ code: Schema.optionalKey(Schema.String), message: Schema.optionalKey(Schema.String) })
    )
  })
)

interface Frame {
  readonly flags: number
  readonly json: string
}

const wrong = (message: string) => new HarborError({ message: `the answer of a sandbox cannot be read: ${message}` })

/** Cuts bytes into frames, whatever pieces they come in; joins the pieces of a frame once. */
const cutter = () => {
  let pieces: Array<Uint8Array> = []
  let held = 0
  let needed = 5
  return {
    take: (bytes: Uint8Array): ReadonlyArray<Frame> => {
      pieces.push(bytes)
      held += bytes.length
      if (held < needed) return []
      const all = Buffer.concat(pieces)
      const frames: Array<Frame> = []
      let at = 0
      needed = 5
      while (all.length - at >= 5) {
        const length = all.readUInt32BE(at + 1)
        if (length > maxBytes) throw new Error(`a message of ${length} bytes`)
        needed = 5 + length
        if (all.length - at < needed) break
        frames.push({ flags: all[at]!, json: all.toString("utf8", at + 5, at + needed) })
        at += needed
        needed = 5
      }
      pieces = [all.subarray(at)]
      held = all.length - at
      return frames
    }
  }
}

/** The messages of an answer; fails with the server's error, and if the answer breaks off. */
export const messages = <E>(answer: Stream.Stream<Uint8Array, E>): Stream.Stream<unknown, E | HarborError> =>
  Stream.suspend(() => {
    const frames = cutter()
    let isOver = false
    const cut = Stream.mapEffect(answer, (bytes) =>
      Effect.try({ try: () => frames.take(bytes), catch: (cause) => wrong(Reason.of(cause)) })
    )
    const read = Effect.fnUntraced(function* ({ flags, json }: Frame) {
      if ((flags & compressed) !== 0) return yield* wrong("it is compressed, which was not asked for")
      const message = yield* Effect.mapError(decodeJson(json), ({ message }) => wrong(message))
      if ((flags & last) === 0) return [message]
      isOver = true
      const { error } = yield* Effect.mapError(decodeEnd(message), ({ message }) => wrong(message))
      if (error === undefined) return []
      return yield* new HarborError({ message: `a sandbox refused a call: ${error.message ?? error.code ?? json}` })
    })
    const broken = Effect.suspend(() => (isOver ? Effect.void : Effect.fail(wrong("it broke off"))))
    return cut.pipe(
      Stream.flatMap((found) => Stream.fromIterable(found)),
      Stream.mapEffect(read),
      Stream.flatMap((found) => Stream.fromIterable(found)),
      Stream.concat(Stream.drain(Stream.fromEffect(broken)))
    )
  })
