/**
 * Numbers of a JSON file as they were written: `5.0` is one of Python's floats and `5` is not, and transformers refuses
 * a configuration that has an integer where a float belongs. JavaScript has one kind of number, so such literals go
 * through it as text.
 */

/** Begins the text of a number; no file has it. */
const mark = "\u0001"

// A string that is never closed is taken to its end, or each of its quotes would be tried anew.
const literals = /"(?:[^"\\]|\\[^])*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The JSON text with every literal that JavaScript would write otherwise as a string. */
export const keep = (json: string): string =>
  json.replace(literals, (literal) =>
    literal.startsWith('"') || String(Number(literal)) === literal ? literal : JSON.stringify(mark + literal)
  )

const kept = /"\\u0001([^"]+)"/g

/** JSON text, with such strings as the numbers they were. */
export const restore = (json: string): string => json.replace(kept, (_, literal: string) => literal)
