/** Decodes the escapes of Python's string literals. */

const simple: { readonly [letter: string]: string } = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\u0007",
  b: "\b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "\n": ""
}

const escape = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g

/**
 * The text between the quotes of a literal. An escape unknown to Python is kept; one that Python rejects (`\N{…}`,
 * `\x4`, a code beyond Unicode's) is passed to `refused`.
 */
export const unescape = (quoted: string, refused: (escape: string) => string): string =>
  quoted
    .slice(1, -1)
    .replace(escape, (whole: string, two?: string, four?: string, eight?: string, octal?: string, one = "") => {
      const hex = two ?? four ?? eight
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16)
        return code <= 0x10ffff ? String.fromCodePoint(code) : refused(whole)
      }
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
      return /[NxuU]/.test(one) ? refused(whole) : (simple[one] ?? whole)
    })
