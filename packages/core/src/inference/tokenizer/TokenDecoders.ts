/** Joins tokens as Python's `tokenizers` does for the decoders of `tokenizer.json` for which the library differs. */

type Config = { readonly [key: string]: unknown }

export type Join = (tokens: ReadonlyArray<string>) => Array<string>

const encoder = new TextEncoder()
const lossy = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const printable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae

/** Maps the characters of byte-level vocabularies to their bytes. */
const byteOf: ReadonlyMap<string, number> = (() => {
  const bytes = new Map<string, number>()
  let next = 256
  for (let byte = 0; byte < 256; byte++) bytes.set(String.fromCodePoint(printable(byte) ? byte : next++), byte)
  return bytes
})()

/** A token with any character that maps to no byte is text. */
const byteLevel: Join = (tokens) => {
  const bytes: Array<number> = []
  for (const token of tokens) {
    const start = bytes.length
    for (const character of token) {
      const byte = byteOf.get(character)
      if (byte === undefined) {
        bytes.length = start
        for (const one of encoder.encode(token)) bytes.push(one)
        break
      }
      bytes.push(byte)
    }
  }
  return [lossy.decode(Uint8Array.from(bytes))]
}

/** Invalid bytes become one replacement character each. */
const textOf = (bytes: ReadonlyArray<number>): string => {
  try {
    return strict.decode(Uint8Array.from(bytes))
  } catch {
    return "\uFFFD".repeat(bytes.length)
  }
}

const byteFallback: Join = (tokens) => {
  const joined: Array<string> = []
  let bytes: Array<number> = []
  const flush = (): void => {
    if (bytes.length > 0) joined.push(textOf(bytes))
    bytes = []
  }
  for (const token of tokens) {
    const [, hex] = /^<0x([0-9A-Fa-f]{2})>$/.exec(token) ?? []
    if (hex === undefined) {
      flush()
      joined.push(token)
    } else bytes.push(Number.parseInt(hex, 16))
  }
  flush()
  return joined
}

const metaspace = ({ prepend_scheme: scheme = "always", replacement = "▁" }: Config): Join => {
  const mark = String(replacement)
  return (tokens) => tokens.map((token, at) => token.replaceAll(mark, at === 0 && scheme !== "never" ? "" : " "))
}

/** A decoder's join function, if the library's differs. */
export const joinOf = (config: Config): Join | undefined => {
  switch (config["type"]) {
    case "ByteLevel":
      return byteLevel
    case "ByteFallback":
      return byteFallback
    case "Metaspace":
      return metaspace(config)
    default:
      return undefined
  }
}
