/** The prelude of packed groups and lists of them: a magic number, a version and two lengths; and the error of both. */
import { Result, Schema } from "effect"

/** The bytes are not a packed group, or the group violates a rule. */
export class PackedGroupError extends Schema.TaggedError<PackedGroupError>()("PackedGroupError", {
  /** The field, or the part of the format. */
  field: Schema.String,
  message: Schema.String
}) {}

const version = 1
/** Bytes before the first part. */
export const preludeBytes = 16
export const groupMagic = 0x47505441 // "ATPG"
export const listMagic = 0x4c505441 // "ATPL"

export const failed = (field: string, message: string) => Result.fail(new PackedGroupError({ field, message }))

export const writePrelude = (bytes: Uint8Array, magic: number, first: number, second: number): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  view.setUint32(0, magic, true)
  view.setUint32(4, version, true)
  view.setUint32(8, first, true)
  view.setUint32(12, second, true)
}

/** The two lengths, if the bytes start with the prelude of `what`. */
export const readPrelude = (
  bytes: Uint8Array,
  magic: number,
  what: string
): Result.Result<{ readonly first: number; readonly second: number }, PackedGroupError> => {
  if (bytes.length < preludeBytes) return failed("prelude", `${bytes.length} bytes are too few for ${what}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== magic) return failed("prelude", `not the beginning of ${what}`)
  const found = view.getUint32(4, true)
  if (found !== version) return failed("prelude", `unknown version ${found} of ${what}; expected ${version}`)
  return Result.succeed({ first: view.getUint32(8, true), second: view.getUint32(12, true) })
}
