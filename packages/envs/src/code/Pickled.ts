/**
 * Reads a Python pickle that contains one text and nothing else, as the private tests of LiveCodeBench do.
 *
 * A pickle is a program. Only the instructions needed for a text are supported: any other is rejected, and none is ever
 * run.
 */
import { Result } from "effect"

const opcodes = {
  proto: 0x80,
  frame: 0x95,
  shortText: 0x8c,
  text: 0x58,
  longText: 0x8d,
  memoize: 0x94,
  put: 0x71,
  longPut: 0x72,
  stop: 0x2e
} as const

/** The number of bytes after each instruction that can be skipped. */
const skipped: ReadonlyMap<number, number> = new Map([
  [opcodes.proto, 1],
  [opcodes.frame, 8],
  [opcodes.memoize, 0],
  [opcodes.put, 1],
  [opcodes.longPut, 4]
])

const lengthOf = (bytes: Buffer, opcode: number, at: number): readonly [length: number, width: number] | undefined =>
  opcode === opcodes.shortText
    ? [bytes.readUInt8(at), 1]
    : opcode === opcodes.text
      ? [bytes.readUInt32LE(at), 4]
      : opcode === opcodes.longText
        ? [Number(bytes.readBigUInt64LE(at)), 8]
        : undefined

const follow = (bytes: Buffer): string => {
  let text: string | undefined
  for (let at = 0; at < bytes.length;) {
    const opcode = bytes.readUInt8(at++)
    if (opcode === opcodes.stop && text !== undefined) return text
    const length = text === undefined ? lengthOf(bytes, opcode, at) : undefined
    if (length !== undefined) {
      const from = at + length[1]
      at = from + length[0]
      if (at > bytes.length) break
      text = bytes.toString("utf8", from, at)
      continue
    }
    const bytesAfter = skipped.get(opcode)
    if (bytesAfter === undefined) throw new Error(`it holds more than a text: instruction 0x${opcode.toString(16)}`)
    at += bytesAfter
  }
  throw new Error("it is truncated")
}

/** The text, or why it cannot be read. */
export const text = (pickle: Uint8Array): Result.Result<string, string> =>
  Result.try({
    try: () => follow(Buffer.from(pickle.buffer, pickle.byteOffset, pickle.byteLength)),
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
  })
