/**
 * Splits a command line into words as a shell does: only quotes and backslashes (no variables, patterns or pipes). For
 * the rest of a shell, write `sh -c '…'`.
 */
import { existsSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"
import { Result } from "effect"

const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/y

/** The words, or what is wrong with the line. */
export const split = (line: string): Result.Result<ReadonlyArray<string>, string> => {
  const words: Array<string> = []
  let word: string | undefined
  piece.lastIndex = 0
  while (piece.lastIndex < line.length) {
    const at = piece.lastIndex
    const found = piece.exec(line)
    if (found === null) {
      return Result.fail(
        line[at] === "\\" ? "it ends in a backslash" : `the ${line[at]} at character ${at + 1} is not closed`
      )
    }
    const [, single, double, escaped, plain] = found
    const part = single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped ?? plain
    if (part !== undefined) word = (word ?? "") + part
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  if (word !== undefined) words.push(word)
  return words.length === 0 ? Result.fail("it is empty") : Result.succeed(words)
}

/** The line that splits into these words. */
export const join = (words: ReadonlyArray<string>): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ")

/** Guesses whether a word is a path rather than a plain argument. */
const isPath = (word: string): boolean => /[./]/.test(word) && !word.startsWith("-")

/**
 * The words for another working directory: those that name existing files in `folder` become absolute, so that
 * `agent.py` still refers to the same file.
 */
export const located = (words: ReadonlyArray<string>, folder: string): ReadonlyArray<string> =>
  words.map((word) => {
    if (!isPath(word) || isAbsolute(word)) return word
    const path = resolve(folder, word)
    return existsSync(path) ? path : word
  })
