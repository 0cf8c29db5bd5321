/** Finds programs of one line inside of prose: `def add(a, b): return a + b` between backticks. Linear. */
const span = /(`{1,3})(?:(?:python|py)3?[ \t]{1,4})?([^`\n]{1,2000})\1(?!`)/g
const program = /^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(.*:|\w+[ \t]*=[ \t]*lambda(?![\w]))/

/** The programs, in order. */
export const programsOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(span), ([, , code = ""]) => code.trim()).filter((code) => program.test(code))
