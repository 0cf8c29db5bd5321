/**
 * The words of a command line, before the parser sees them.
 *
 * The flags of a command depend on the environment it is about, so that word is looked for first. `True` and `False`
 * after a boolean flag are spelled as the parser wants them.
 */

/** The values of `--name value` and `--name=value`, in their order. */
export const peekAll = (words: ReadonlyArray<string>, name: string): ReadonlyArray<string> =>
  words.flatMap((word, index) => {
    if (word.startsWith(`--${name}=`)) return [word.slice(name.length + 3)]
    const next = words[index + 1]
    return word === `--${name}` && next !== undefined && !next.startsWith("--") ? [next] : []
  })

/** The last one of them. */
export const peek = (words: ReadonlyArray<string>, name: string): string | undefined => peekAll(words, name).at(-1)

/** The first word that is not a flag: the verb. */
export const verb = (words: ReadonlyArray<string>): string | undefined => {
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (!word.startsWith("-")) return word
    if (takesValue.has(word)) index++
  }
  return undefined
}

/** Flags that may stand before the verb and take the next word. */
const takesValue = new Set(["--log-level", "--completions"])

const booleanWord = /^(true|false|yes|no|on|off)$/i

/** `--x True`, `--x=FALSE` in lower case where `x` is a boolean flag. */
export const spellBooleans = (words: ReadonlyArray<string>, booleans: ReadonlySet<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    const [name, value] = word.split("=", 2)
    if (value !== undefined) {
      return booleans.has(name!.slice(2)) && booleanWord.test(value) ? `${name}=${value.toLowerCase()}` : word
    }
    const before = words[index - 1]
    const followsBoolean = before !== undefined && before.startsWith("--") && booleans.has(before.slice(2))
    return followsBoolean && booleanWord.test(word) ? word.toLowerCase() : word
  })
