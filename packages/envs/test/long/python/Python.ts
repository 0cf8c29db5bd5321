/** Scripts of these tests, in the interpreter of tests. */
import { execFileSync } from "node:child_process"
import { interpreter } from "../../../../core/test/Python.ts"

/** What a script prints last, which is JSON. */
export const run = (script: string, ...words: ReadonlyArray<string>): unknown => {
  const output = execFileSync(interpreter, [script, ...words], {
    encoding: "utf8",
    maxBuffer: 256 << 20,
    env: { ...process.env, PYTHONHASHSEED: "0" }
  })
  return JSON.parse(output.trim().split("\n").at(-1) ?? "")
}
