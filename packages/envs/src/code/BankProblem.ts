/**
 * Defines a small built-in problem: a function head with a docstring, as in HumanEval, a body that passes, and the
 * tests.
 */
import type { Problem } from "./Problem.ts"

export const problem = (head: string, body: string, tests: string): Problem => {
  const entry = /^def (\w+)/m.exec(head)![1]!
  const preamble = `${head.trim()}\n`
  const indented = body.trim().replaceAll(/^/gm, "    ")
  return {
    question: preamble,
    preamble,
    setup: "",
    tests: tests.trim().split("\n\n"),
    entry,
    asks: [entry],
    solution: `${preamble}${indented}\n`
  }
}
