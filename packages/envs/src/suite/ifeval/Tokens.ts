/**
 * Splits a text into words and signs like NLTK's `word_tokenize` (its Penn Treebank rules, Apache-2.0).
 *
 * IFEval uses them to count words in capitals. Sentences are not split first, which affects only the full stop of a
 * word, and no letter.
 */

const rules: ReadonlyArray<readonly [RegExp, string]> = [
  [/([«“‘„]|`+)/gu, " $1 "],
  [/^"/g, "``"],
  [/(``)/g, " $1 "],
  [/([ ([{<])("|'{2})/g, "$1 `` "],
  [/(?<![\p{L}\p{N}_])'(?!(?:re|ve|ll|m|t|s|d|n)(?![\p{L}\p{N}_]))(?=[\p{L}\p{N}_])/giu, "' "],
  [/([:,])([^\d])/g, " $1 $2"],
  [/([:,])$/g, " $1 "],
  [/\.{2,}/g, " $& "],
  [/[;@#$%&]/g, " $& "],
  [/[‒-―]/g, " $& "],
  [/[?!]/g, " $& "],
  [/([^'])' /g, "$1 ' "],
  [/[*]/g, " $& "],
  [/[\][(){}<>]/g, " $& "],
  [/--/g, " -- "],
  [/([»”’])/gu, " $1 "],
  [/''/g, " '' "],
  [/"/g, " '' "],
  [/\s+/g, " "],
  [/([^' ])('s|'m|'d|') /gi, "$1 $2 "],
  [/([^' ])('ll|'re|'ve|n't) /gi, "$1 $2 "],
  [/\b(can)(not)\b/gi, " $1 $2 "],
  [/\b(d)('ye)\b/gi, " $1 $2 "],
  [/\b(gim)(me)\b/gi, " $1 $2 "],
  [/\b(gon)(na)\b/gi, " $1 $2 "],
  [/\b(got)(ta)\b/gi, " $1 $2 "],
  [/\b(lem)(me)\b/gi, " $1 $2 "],
  [/\b(more)('n)\b/gi, " $1 $2 "],
  [/\b(wan)(na)(?=\s)/gi, " $1 $2 "]
]

export const of = (text: string): ReadonlyArray<string> =>
  ` ${rules.reduce((written, [pattern, by]) => written.replace(pattern, by), text)} `
    .split(/\s+/)
    .filter((token) => token !== "")
