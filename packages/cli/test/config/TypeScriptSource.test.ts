import { assert, describe, it } from "@effect/vitest"
import * as TsConfig from "../../src/config/TsConfig.ts"
import * as TypeScriptSource from "../../src/config/TypeScriptSource.ts"

const moduleOf = (source: string, file = "agent.ts") => TypeScriptSource.moduleOf(source, file, `file:///${file}`)

describe("TypeScript of a user's project as a module", () => {
  it("drops imported names that were types, and keeps lines and all that is used", () => {
    assert.strictEqual(
      moduleOf(`import { Item, score } from "./lib.js"
import { Only } from "types-alone"
import Default, { type Other } from "pkg"
import {
  Some,
  used as local
} from "./more"
import * as all from "all"
// Item and Some stand in comments.
const f = (item: Item, some: Some, only: Only) => score(item) + local + Default + all.x
export default f`),
      `import { score } from "./lib.js"

import Default, {            } from "pkg"
import { used as local } from "./more"



import * as all from "all"
// Item and Some stand in comments.
const f = (item      , some      , only      ) => score(item) + local + Default + all.x
export default f`
    )
  })

  it("runs a file of the user's of which only types are imported", () => {
    assert.strictEqual(
      moduleOf(`import { Item } from "./setup.ts"\nexport const f = (item: Item) => item`),
      `import "./setup.ts"\nexport const f = (item      ) => item`
    )
  })

  it("gives names of CommonJS to modules that use them, and to no others", () => {
    assert.match(
      moduleOf(`export const a = require("node:fs"), b = __dirname`) ?? "",
      /^const require = .*createRequire\(import\.meta\.url\);const __dirname = import\.meta\.dirname;export const a/
    )
    const own = `import { createRequire } from "node:module"\nconst require = createRequire(import.meta.url)\nexport const a = require("x")`
    assert.strictEqual(moduleOf(own), own)
    const member = `export const a = { require: 1 }.require`
    assert.notInclude(moduleOf(member) ?? "", "createRequire")
    assert.isUndefined(moduleOf(`const fs = require("node:fs")`))
  })

  it("names JSX as what Node does not run, with what does", () => {
    assert.throws(
      () => moduleOf("export const View = () => <div>hi</div>", "/src/view.tsx"),
      /\/src\/view\.tsx has JSX, which Node does not run: npm install --save-dev tsx/
    )
    assert.include(moduleOf("export const one: number = 1", "/src/one.tsx") ?? "", "one")
  })

  it("names the file and the line of what cannot be read", () => {
    assert.throws(() => moduleOf("export const one = 1\nexport const two =\n"), /expected \(\/agent\.ts:2\)/)
  })

  it("reads configurations with comments and trailing commas", () => {
    const text = `{ // a "comment"
      "a": "http://x/*", /* "b": 1, */ "c": [1, 2, ], "d": "\\",]", }`
    assert.deepStrictEqual(JSON.parse(TsConfig.withoutComments(text)), { a: "http://x/*", c: [1, 2], d: '",]' })
  })
})
