/** Every example has its line and its picture in the README, and the pictures show what the examples print. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestConsole } from "effect/testing"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Letters from "../01-letters.ts"
import * as MultiTurn from "../05-multi-turn.ts"
import * as StepWise from "../10-step-wise.ts"
import * as Judge from "../11-judge.ts"
import * as FollowUpItems from "../13-follow-up-items.ts"
import * as Tools from "../16-tools.ts"
import { printed } from "./Printed.ts"

const folder = fileURLToPath(new URL("../", import.meta.url))
const read = (file: string): string => readFileSync(`${folder}${file}`, "utf8")
const readme = read("README.md")

/** Without their endings: an agent and how it is trained are one. */
const examples = [
  ...new Set(globSync("[0-9]*.{ts,yaml}", { cwd: folder }).map((file) => file.replace(/(?:\.test)?\.\w+$/, "")))
].toSorted()

/** Of each example's part of the README, what the pictures show and where they are. */
const pictures = new Map(
  Array.from(
    readme.matchAll(/^\*\*([\w-]+)\*\*: (.+)\n((?:\n!\[[^\]]+\]\([^)]+\)\n)+)/gm),
    ([, name, , images = ""]) => [
      name,
      Array.from(images.matchAll(/!\[([^\]]+)\]\((images\/[\w-]+\.svg)\)/g), ([, alt = "", file = ""]) => ({
        alt,
        file
      }))
    ]
  )
)

const described = (name: string): ReadonlyArray<string> =>
  (/<desc>([^]*)<\/desc>/.exec(read(`images/${name}.svg`))?.[1] ?? "")
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&")
    .split("\n")

describe("the README of the examples", () => {
  it("has a line and a picture of each", () => {
    assert.isAtLeast(examples.length, 20)
    assert.deepStrictEqual(Array.from(pictures.keys()), examples)
    for (const name of examples) {
      assert.match(readme, new RegExp(`^\\| \\[${name}[\\w.]*\\]\\(${name}[\\w.]*\\) \\| .{20,} \\|$`, "m"))
      const shown = pictures.get(name)!
      assert.include(
        shown.map(({ file }) => file),
        `images/${name}.svg`
      )
      for (const { alt } of shown) assert.isAbove(alt.length, 20, name)
    }
  })

  it("shows all pictures that there are: light ones, in colours for light and dark pages", () => {
    const shown = Array.from(pictures.values()).flatMap((some) => some.map(({ file }) => file))
    assert.sameMembers(shown, globSync("images/*", { cwd: folder }))
    for (const file of shown) {
      const svg = read(file)
      assert.match(svg, /^<svg [^]*<\/svg>\n$/)
      assert.include(svg, "prefers-color-scheme:dark", file)
      assert.isBelow(svg.length, 10_000, file)
    }
  })

  it.effect("shows what is printed", () =>
    Effect.gen(function* () {
      const shown = (name: string, program: Effect.Effect<unknown, unknown>) =>
        Effect.map(printed(program).pipe(Effect.provide(TestConsole.layer, { local: true })), (lines) =>
          assert.deepStrictEqual(described(name), lines, `${name}: npm run figures:examples`)
        )
      yield* shown("01-letters", Letters.program)
      yield* shown("05-multi-turn", MultiTurn.program)
      yield* shown("10-step-wise", StepWise.program)
      yield* shown("11-judge", Judge.program)
      yield* shown("13-follow-up-items", FollowUpItems.program)
      yield* shown("16-tools", Tools.program)
    })
  )
})
