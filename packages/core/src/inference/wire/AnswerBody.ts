/**
 * Reads the body of an inference server's answer up to a size limit: bytes are counted as they arrive (after
 * decompression), and the structure is checked before parsing. Reading stops at the limit and closes the connection, so
 * that an endless answer does no harm.
 */
import { Effect, Stream } from "effect"
import * as Nesting from "../../base/json/Nesting.ts"

const mebibyte = 2 ** 20

/** About 900,000 tokens with ids and logprobs, in vLLM's widest form. */
const maxMebibytes = 128
/** Lists and maps of such an answer; parsing them takes seconds. */
const maxOpened = 4 * mebibyte
/** Only the beginning of an error body is shown. */
const maxRefusalBytes = 64 * 1024

export class Unacceptable extends Error {
  override readonly name = "Unacceptable"
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** The bytes of an answer: all of them, or the first ones of an error. */
export const read = <E>(
  status: number,
  body: Stream.Stream<Uint8Array, E>,
  most = maxMebibytes * mebibyte
): Effect.Effect<Uint8Array<ArrayBuffer>, E | Unacceptable> =>
  Effect.suspend(() => {
    const limit = isSuccess(status) ? most : maxRefusalBytes
    const parts: Array<Uint8Array> = []
    let size = 0
    return body.pipe(
      Stream.takeUntil((part) => {
        parts.push(part)
        size += part.length
        return size > limit
      }),
      Stream.runDrain,
      Effect.flatMap(() => {
        const bytes = Buffer.concat(parts)
        if (size <= limit) return Effect.succeed(bytes)
        return isSuccess(status)
          ? Effect.fail(
              new Unacceptable(
                `the answer is larger than ${Math.floor(limit / mebibyte)} MiB; if it is legitimate, request fewer completions at a time`
              )
            )
          : Effect.succeed(bytes.subarray(0, limit))
      })
    )
  })

/** Streams the bytes of an answer, up to the limit. */
export const limited = <E>(
  body: Stream.Stream<Uint8Array, E>,
  take: (bytes: Uint8Array) => void,
  most = maxMebibytes * mebibyte
): Stream.Stream<void, E | Unacceptable> => {
  let size = 0
  return Stream.mapEffect(body, (part) => {
    size += part.length
    if (size > most) return Effect.fail(new Unacceptable(`the answer is larger than ${most / mebibyte} MiB`))
    return Effect.sync(() => take(part))
  })
}

/** The reason not to parse a text, if any. */
export const flaw = (json: string): Unacceptable | undefined =>
  Nesting.exceeds(json, { opened: maxOpened })
    ? new Unacceptable("the answer is nested too deeply, or has too many lists and maps")
    : undefined

/** Splits an answer's bytes into lines as they arrive; CR, LF and CRLF end a line. Linear in the bytes. */
export const lines = () => {
  const decoder = new TextDecoder()
  let begun: Array<string> = []
  let isAfterReturn = false
  const cut = (decoded: string): ReadonlyArray<string> => {
    if (decoded === "") return []
    const text = isAfterReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded
    isAfterReturn = decoded.endsWith("\r")
    const parts = text.split(/\r\n|\r|\n/)
    const rest = parts.pop() ?? ""
    const [first, ...others] = parts
    const whole = first === undefined ? [] : [[...begun, first].join(""), ...others]
    if (first !== undefined) begun = []
    if (rest !== "") begun.push(rest)
    return whole
  }
  return {
    take: (bytes: Uint8Array): ReadonlyArray<string> => cut(decoder.decode(bytes, { stream: true })),
    end: (): ReadonlyArray<string> => {
      const whole = cut(decoder.decode())
      return begun.length === 0 ? whole : [...whole, begun.join("")]
    }
  }
}
