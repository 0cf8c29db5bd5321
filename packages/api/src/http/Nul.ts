/**
 * The character 0, which Postgres takes in no text: a request that has it in a name is refused before the database is
 * asked.
 */

/** As it is called in refusals. */
export const name = "the character U+0000, which no name or text may have here"

const escaped = Buffer.from("\\u0000")

/**
 * Whether JSON text has it in a string: there it can only be escaped. (A backslash before the escape is taken for one,
 * too.)
 */
export const isIn = (json: Uint8Array): boolean =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(escaped)

/** Whether an address has it, in its path or in its query. */
export const isInUrl = (url: string): boolean => url.includes("%00")
