/**
 * Reads and normalizes command-line arguments before they are parsed: the flags of a command depend on its environment,
 * and boolean flags accept `True` and `False`.
 */

/** The values of `--name value` and `--name=value`, in order. */
export const argValues = (words: ReadonlyArray<string>, name: string): ReadonlyArray<string> =>
  words.flatMap((word, index) => {
    if (word.startsWith(`--${name}=`)) return [word.slice(name.length + 3)]
    const next = words[index + 1]
    return word === `--${name}` && next !== undefined && !next.startsWith("--") ? [next] : []
  })

/** The last of these values. */
export const argValue = (words: ReadonlyArray<string>, name: string): string | undefined =>
  argValues(words, name).at(-1)

/** The subcommand: the first argument that is not a flag. */
export const subcommand = (words: ReadonlyArray<string>): string | undefined => {
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (!word.startsWith("-")) return word
    if (takesValue.has(word)) index++
  }
  return undefined
}

/** Flags that may precede the subcommand and take a value. */
const takesValue = new Set(["--log-level", "--completions"])

const booleanWord = /^(true|false|yes|no|on|off)$/i

/** Lower-cases `--x True` and `--x=FALSE` if `x` is a boolean flag. */
export const normalizeBooleans = (words: ReadonlyArray<string>, booleans: ReadonlySet<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    const [name, value] = word.split("=", 2)
    if (value !== undefined) {
      return booleans.has(name!.slice(2)) && booleanWord.test(value) ? `${name}=${value.toLowerCase()}` : word
    }
    const before = words[index - 1]
    const followsBoolean = before !== undefined && before.startsWith("--") && booleans.has(before.slice(2))
    return followsBoolean && booleanWord.test(word) ? word.toLowerCase() : word
  })
