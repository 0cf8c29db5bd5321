import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Atropos from "../crash/Atropos.ts"
import * as Bin from "../Bin.ts"
import * as SampleGroups from "./SampleGroups.ts"

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

layer(NodeServices.layer, { excludeTestServices: true })("a data set in the making", (it) => {
  it.effect("killed at any time goes on, and ends as if it had not been", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Atropos.folder
      // A bad line, which is told, before every two hundredth group; counted once, wherever the kills fall.
      const lines = SampleGroups.lines(3600).split("\n")
      const content = lines.flatMap((line, index) => (index % 200 === 0 ? ["{", line] : [line])).join("\n")
      yield* fs.writeFileString(`${cwd}/groups.jsonl`, content)
      const undisturbed = yield* Atropos.run(words("whole.jsonl"), { cwd })
      assert.strictEqual(undisturbed.code, 0, undisturbed.err)

      for (const at of [202, 2011]) {
        const running = yield* Atropos.start(words("killed.jsonl"), { cwd })
        yield* running.says(`line ${at}:`)
        yield* running.kill
        for (const split of ["train", "validation"]) {
          assert.isFalse(yield* fs.exists(`${cwd}/killed-${split}.jsonl`))
        }
      }
      const last = yield* Atropos.run(words("killed.jsonl"), { cwd })
      assert.strictEqual(last.code, 0, last.err)
      assert.include(last.err, "rows of an earlier run")
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
      assert.strictEqual(reports[0].unreadable_lines.count, 19)
      const left = (yield* fs.readDirectory(cwd)).filter((name) => /partial|checkpoint|new/.test(name))
      assert.deepStrictEqual(left, [])
    })
  )

  it.effect("from an environment goes on after kill -9 with every item once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Atropos.folder
      const words = [
        "sft-gen",
        "set.jsonl",
        `--env=${Bin.myEnvironment}`,
        "--testing",
        "--env.largest=100000",
        "--env.group_size=2",
        "--save-messages",
        "--save-top-n-per-group=1",
        "--num-seqs-to-save=600"
      ]
      const running = yield* Atropos.start(words, { cwd })
      yield* running.says("/600 rows")
      yield* running.kill
      const { code, err } = yield* Atropos.run(words, { cwd })
      assert.strictEqual(code, 0, err)
      const asked = (yield* fs.readFileString(`${cwd}/set.jsonl`))
        .trimEnd()
        .split("\n")
        .map((line) => Number(JSON.parse(line).messages[0].content))
      assert.strictEqual(new Set(asked).size, 600)
    })
  )
})
