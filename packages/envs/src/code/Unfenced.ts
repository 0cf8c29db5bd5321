/**
 * Finds the programs in a reply without fences: the lines between its prose, without Markdown's indentation of code. A
 * line that is not indented is prose if no statement of Python is written so: two words in a row, the end of
 * a sentence, a title, a list, a tag. Linear.
 */
import { quoteStateAfter, type QuoteState } from "./Blocks.ts"

/** Words that a statement begins with, or has second. */
const first = new Set(
  (
    "and as assert async await break case class continue def del elif else except finally for from global if import in is " +
    "lambda match nonlocal not or pass print raise return try type while with yield True False None"
  ).split(" ")
)
const second = new Set(["and", "as", "else", "for", "if", "import", "in", "is", "not", "or"])

const twoWords = /^([A-Za-z][\w'’-]*)[,!?.;]?[ \t]+["'“`]*([A-Za-z][\w'’-]*)/
const annotated = /^[\w.]+[ \t]*:[ \t]*\S+(?:[ \t]*=|[ \t]*$)/
const assigned = /^[\w.*]+(?:[ \t]*,[ \t]*[\w.*]+){0,20}[ \t]*=(?!=)/
const title =
  /^(?:[A-Z][\w ,'’()-]*:|\*\*.*|[-*+][ \t]+[A-Za-z].*|\d{1,9}[.)][ \t].*|<\/?[\w-]{1,40}>|\[\/?[A-Z]{1,40}\])[ \t]*$/
const sentence = /[A-Za-z][.!?][ \t]*$/

const isProse = (line: string): boolean => {
  if (/^[ \t]/.test(line) || annotated.test(line) || assigned.test(line)) return false
  if (title.test(line) || (sentence.test(line) && !line.includes("#"))) return true
  const [, one = "", other = ""] = twoWords.exec(line) ?? []
  return one !== "" && !first.has(one) && !second.has(other)
}

/** Without the indentation that all lines share. */
const dedented = (lines: ReadonlyArray<string>): string => {
  const indents = lines.flatMap((line) => (line.trim() === "" ? [] : [/^[ \t]*/.exec(line)![0].length]))
  const shared = Math.min(...indents)
  return lines.map((line) => line.slice(shared)).join("\n")
}

/** The parts of a text between its prose; `isBody`: the text continues a function, and keeps its indentation. */
export const partsOf = (text: string, isBody: boolean): ReadonlyArray<string> => {
  const parts: Array<Array<string>> = [[]]
  let quote: QuoteState
  for (const line of text.split("\n")) {
    if (quote === undefined && isProse(line)) parts.push([])
    else {
      parts.at(-1)!.push(line)
      quote = quoteStateAfter(line, quote)
    }
  }
  const programs = parts.filter((lines) => lines.some((line) => line.trim() !== ""))
  return programs.map((lines) => (isBody ? lines.join("\n") : dedented(lines)))
}
