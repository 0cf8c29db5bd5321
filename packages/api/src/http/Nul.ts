/**
 * Detects NUL, which Postgres does not accept in text: a request with NUL in a name is refused before it reaches the
 * database.
 */

export const description = "the character U+0000, which is not allowed in names and texts"

const escaped = Buffer.from("\\u0000")

/**
 * Returns true if a string in the JSON text has NUL, which JSON always escapes. (An escape after an escaped backslash
 * matches too.)
 */
export const isIn = (json: Uint8Array): boolean =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(escaped)

/** Returns true if the path or query of a URL has it. */
export const isInUrl = (url: string): boolean => url.includes("%00")
