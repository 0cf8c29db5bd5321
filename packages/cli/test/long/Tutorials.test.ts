/** The tutorials that train nothing, followed word for word; the others are `nightly/Tutorials.test.ts`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { globSync } from "node:fs"
import * as PageCommands from "../pages/PageCommands.ts"
import * as Tutorial from "../pages/Tutorial.ts"

layer(NodeServices.layer, { excludeTestServices: true })("the tutorials", (it) => {
  it.effect("2, 3 and 6 do what they say, one after the other", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Tutorial.makeFolder
      const [validated, processed] = yield* Tutorial.follow("2-an-environment")
      assert.match(validated!, /ok\s+scores are in the claimed range/)
      assert.match(processed!, /groups\s+2 kept/)
      assert.isTrue(yield* fs.exists(`${cwd}/data/pears.html`))
      yield* Tutorial.follow("3-your-agent")
      yield* Tutorial.follow("6-data-sets")
      const rows = (yield* fs.readFileString(`${cwd}/sft.jsonl`)).trim().split("\n")
      assert.isNotEmpty(rows)
      assert.hasAllKeys(JSON.parse(rows[0]!), ["prompt", "completion", "score"])
      assert.isTrue(yield* fs.exists(`${cwd}/groups.html`))
    })
  )

  it.effect("each name the next one, and are listed with the examples", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const read = (file: string) => fs.readFileString(`${PageCommands.root}examples/${file}`)
      const all = globSync("[0-9]-*.md", { cwd: `${PageCommands.root}examples/tutorials` }).toSorted()
      assert.lengthOf(all, 8)
      const list = yield* read("README.md")
      for (const [place, file] of all.entries()) {
        assert.include(list, `](tutorials/${file})`)
        const title = /^# (.+)$/m.exec(yield* read(`tutorials/${file}`))?.[1]
        if (place > 0) assert.include(yield* read(`tutorials/${all[place - 1]}`), `Next: [${title}](${file})\n`)
      }
    })
  )
})
