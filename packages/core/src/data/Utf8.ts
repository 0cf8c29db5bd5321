/** Decodes the bytes of a text file in UTF-8, piece by piece; other bytes are an error instead of marks in the text. */
import { Effect, Stream } from "effect"
import { Transform } from "node:stream"

export class NotUtf8 extends Error {
  override readonly name = "NotUtf8"
  constructor() {
    super("it is not UTF-8 text: convert it")
  }
}

const decoding = () => {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  return (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch {
      throw new NotUtf8()
    }
  }
}

/** Without a byte order mark. */
export const text = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<string, E | NotUtf8, R> =>
  Stream.suspend(() => {
    const decode = decoding()
    const decoded = (piece?: Uint8Array) => Effect.try({ try: () => decode(piece), catch: (cause) => cause as NotUtf8 })
    return bytes.pipe(
      Stream.mapEffect((piece) => decoded(piece)),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => decoded())))
    )
  })

/** Passes bytes on unchanged if they are UTF-8, or if a byte order mark states little-endian UTF-16. */
export const checked = (): Transform => {
  const decode = decoding()
  let isUtf16: boolean | undefined
  return new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      isUtf16 ??= piece[0] === 0xff && piece[1] === 0xfe
      try {
        if (!isUtf16) decode(piece)
        done(null, piece)
      } catch (error) {
        done(error as NotUtf8)
      }
    },
    flush(done) {
      try {
        if (isUtf16 !== true) decode()
        done()
      } catch (error) {
        done(error as NotUtf8)
      }
    }
  })
}
