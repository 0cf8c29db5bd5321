/** `atropos process` killed in the midst of its work: it goes on where its file ended. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "./Atropos.ts"
import type * as KillMoment from "./KillMoment.ts"

const groups = 60

/** One life for each. Lines are written, then the checkpoint that counts them gets its name. */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // The first one says whose file it is.
  { of: "renamed", when: "after", what: /\.checkpoint\.json$/ },
  { of: "renamed", when: "before", what: /\.checkpoint\.json$/, nth: 2 },
  { of: "renamed", when: "before", what: /\.checkpoint\.json$/, nth: 5 }
]

layer(NodeServices.layer, { excludeTestServices: true })("atropos process", (it) => {
  it.effect("goes on after kill -9 where the file ended, each item once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const file = `${cwd}/data/repeat.jsonl`
      // What a run of my-env asked for, group by group.
      const numbers = Effect.map(fs.readFileString(file), (text) =>
        text
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => Number(JSON.parse(line).messages[0][0].content))
          .sort((a, b) => a - b)
      )
      const words = ["process", "--env", Bin.myEnvironment, "--testing", "--env.largest", "100000"].concat([
        "--env.total_steps",
        String(groups)
      ])
      for (const killAt of kills) {
        yield* (yield* Atropos.start(words, { cwd, killAt })).killed
        assert.isBelow((yield* numbers).length, groups)
      }
      const { code, stdout } = yield* InProcess.run(words)
      assert.strictEqual(code, 0)
      assert.match(stdout, new RegExp(`groups +${groups} kept, [1-9]\\d* items from an earlier run`))
      assert.deepStrictEqual(
        yield* numbers,
        Array.from({ length: groups }, (_, index) => index)
      )
    })
  )
})
