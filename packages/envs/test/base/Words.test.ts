import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Words from "../../src/base/Words.ts"

describe("the words of a command line", () => {
  it("are those that a shell would make of it", () => {
    const lines = [
      "python agent.py",
      `node -e 'console.log("a b")' --flag="two words" plain\\ space`,
      `a"b"'c'd '' "" "\\"quoted\\" \\\\ \\n"`,
      "  tabs\tand\nlines  "
    ]
    for (const line of lines) {
      const shells = execFileSync("sh", ["-c", `printf '%s\\0' ${line.replaceAll("\n", " ")}`], { encoding: "utf8" })
      assert.deepStrictEqual(Words.split(line), Result.succeed(shells.split("\0").slice(0, -1)), line)
    }
  })

  it.prop("come back from the line they make", [Schema.NonEmptyArray(Schema.String)], ([words]) => {
    assert.deepStrictEqual(Words.split(Words.join(words)), Result.succeed(words))
  })

  it("are none where a quote is open, and it says which", () => {
    assert.deepStrictEqual(Words.split(`run "this`), Result.fail('the " at character 5 is not closed'))
    assert.deepStrictEqual(Words.split("it's"), Result.fail("the ' at character 3 is not closed"))
    assert.deepStrictEqual(Words.split("a \\"), Result.fail("it ends in a backslash"))
    assert.deepStrictEqual(Words.split(" "), Result.fail("it is empty"))
  })

  it("name the files of the folder in which they were written, wherever they are run", () => {
    const folder = mkdtempSync(join(tmpdir(), "atropos-words-"))
    writeFileSync(join(folder, "agent.py"), "")
    assert.deepStrictEqual(Words.located(["python", "agent.py", "./none.py", "-x.y", "/bin/sh"], folder), [
      "python",
      join(folder, "agent.py"),
      "./none.py",
      "-x.y",
      "/bin/sh"
    ])
    rmSync(folder, { recursive: true })
  })
})
