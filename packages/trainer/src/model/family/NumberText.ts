/**
 * Keeps numbers of a JSON file as written: `5.0` is a float in Python and `5` is not, and transformers rejects a
 * configuration with an integer instead of a float. JavaScript does not distinguish them, so such literals are kept as
 * strings.
 */

/** Prefix of a number's text; no file contains it. */
const mark = "\u0001"

// An unclosed string is matched to its end; otherwise each of its quotes would be retried.
const literals = /"(?:[^"\\]|\\[^])*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Replaces every number literal that JavaScript would format differently with a string. */
export const keep = (json: string): string =>
  json.replace(literals, (literal) =>
    literal.startsWith('"') || String(Number(literal)) === literal ? literal : JSON.stringify(mark + literal)
  )

const kept = /"\\u0001([^"]+)"/g

export const restore = (json: string): string => json.replace(kept, (_, literal: string) => literal)
