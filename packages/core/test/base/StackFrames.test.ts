import { assert, describe, it } from "@effect/vitest"
import { pathToFileURL } from "node:url"
import * as StackFrames from "../../src/base/StackFrames.ts"

const here = (file: string) => pathToFileURL(`${process.cwd()}/${file}`).href
const own = new URL("../../src/definition/Laws.ts", import.meta.url).href

const stack = [
  "TypeError: no such thing",
  "in two lines",
  `    at given (${own}:5:1)`,
  `    at run (${here("node_modules/effect/dist/internal/effect.js")}:476:97)`,
  `    at score (${here("environments (new)/my-env.ts")}:13:5)`,
  "    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
  `    at async ${here("main.ts")}:2:11`
].join("\n")

describe("StackFrames", () => {
  it("find the author's first frame, from the working folder", () => {
    assert.strictEqual(StackFrames.place(stack), "environments (new)/my-env.ts:13:5")
    assert.strictEqual(
      StackFrames.place("Error: x\n    at async /elsewhere/my-env.ts:2:11"),
      "/elsewhere/my-env.ts:2:11"
    )
  })

  it("keep the message and the author's frames alone", () => {
    assert.deepStrictEqual(
      StackFrames.trimmed(stack).split("\n"),
      stack.split("\n").filter((_, index) => [0, 1, 4, 6].includes(index))
    )
  })

  it("are all kept where none is the author's", () => {
    const ours = `Error: x\n    at given (${own}:5:1)`
    assert.strictEqual(StackFrames.place(ours), undefined)
    assert.strictEqual(StackFrames.trimmed(ours), ours)
  })

  it("tell where a file is that is no program", () => {
    const syntax = `${here("my-env.ts")}:7\nexport default {\n\nSyntaxError: Unexpected token\n    at parse (node:internal/modules:1:2)`
    assert.strictEqual(StackFrames.place(syntax), "my-env.ts:7")
  })
})
