import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Atropos from "../crash/Atropos.ts"
import type * as KillMoment from "../crash/KillMoment.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as SampleGroups from "../sets/SampleGroups.ts"

const words = (out: string) => [
  "dpo-gen",
  out,
  "--from=groups.jsonl",
  "--tokenizer=bytes",
  "--dedupe",
  "--format=trl",
  "--num-seqs-to-save=100000",
  "--validation-fraction=0.2"
]

/** One life for each, and the splits that have their files then. A first checkpoint is written at the start. */
const kills: ReadonlyArray<readonly [killAt: KillMoment.KillMoment, named: ReadonlyArray<string>]> = [
  // Rows are written that no checkpoint counts.
  [{ of: "renamed", when: "before", what: /\.checkpoint\.json$/, nth: 2 }, []],
  [{ of: "renamed", when: "after", what: /\.checkpoint\.json$/, nth: 2 }, []],
  [{ of: "renamed", when: "after", what: /killed-train\.jsonl$/ }, ["train"]]
]

layer(NodeServices.layer, { excludeTestServices: true })("a data set in the making", (it) => {
  it.effect("killed while it reads and while it ends goes on, and ends as if it had not been", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      // A bad line, which is told, before every two hundredth group and at the end; counted once, whenever it dies.
      const lines = SampleGroups.lines(1200).split("\n")
      const content = lines.flatMap((line, index) => (index % 200 === 0 ? ["{", line] : [line])).join("\n")
      yield* fs.writeFileString(`${cwd}/groups.jsonl`, content)
      const undisturbed = yield* InProcess.run(words("whole.jsonl"))
      assert.strictEqual(undisturbed.code, 0, undisturbed.stderr)

      for (const [killAt, named] of kills) {
        yield* (yield* Atropos.start(words("killed.jsonl"), { cwd, killAt })).killed
        for (const split of ["train", "validation"]) {
          assert.strictEqual(yield* fs.exists(`${cwd}/killed-${split}.jsonl`), named.includes(split))
        }
      }
      const last = yield* InProcess.run(words("killed.jsonl"))
      assert.strictEqual(last.code, 0, last.stderr)
      assert.include(last.stderr, "rows of an earlier run")
      for (const split of ["train", "validation"]) {
        const [killed, whole] = yield* Effect.all([
          fs.readFileString(`${cwd}/killed-${split}.jsonl`),
          fs.readFileString(`${cwd}/whole-${split}.jsonl`)
        ])
        assert.isTrue(killed === whole)
      }
      const reports = yield* Effect.forEach(["killed", "whole"], (name) =>
        Effect.map(fs.readFileString(`${cwd}/${name}.jsonl.report.json`), (text) => JSON.parse(text))
      )
      assert.deepStrictEqual(reports[0].dropped, reports[1].dropped)
      assert.strictEqual(reports[0].unreadable_lines.count, 7)
      const left = (yield* fs.readDirectory(cwd)).filter((name) => /partial|checkpoint|new/.test(name))
      assert.deepStrictEqual(left, [])
    })
  )

  it.effect("from an environment goes on after kill -9 with every item once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const words = [
        "sft-gen",
        "set.jsonl",
        `--env=${Bin.myEnvironment}`,
        "--testing",
        "--env.largest=100000",
        "--env.group_size=2",
        "--save-messages",
        "--save-top-n-per-group=1",
        "--num-seqs-to-save=60"
      ]
      const killAt = { of: "renamed", when: "before", what: /\.checkpoint\.json$/, nth: 4 } as const
      yield* (yield* Atropos.start(words, { cwd, killAt })).killed
      const { code, stderr } = yield* InProcess.run(words)
      assert.strictEqual(code, 0, stderr)
      assert.include(stderr, "rows of an earlier run")
      const asked = (yield* fs.readFileString(`${cwd}/set.jsonl`))
        .trimEnd()
        .split("\n")
        .map((line) => Number(JSON.parse(line).messages[0].content))
      assert.strictEqual(new Set(asked).size, 60)
    })
  )
})
