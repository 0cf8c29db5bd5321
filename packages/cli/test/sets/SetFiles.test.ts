import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, type Scope } from "effect"
import type { MadeRow, Split } from "../../src/sets/Builder.ts"
import * as Counts from "../../src/sets/Counts.ts"
import type { State } from "../../src/sets/SetCheckpoint.ts"
import * as SetFiles from "../../src/sets/SetFiles.ts"
import * as Bin from "../Bin.ts"

const options = (out: string, changed: Partial<SetFiles.Options> = {}): SetFiles.Options => ({
  out,
  container: "jsonl",
  splits: ["train"],
  identity: { format: "original" },
  appends: false,
  resumes: true,
  columns: ["text", "score"],
  checkpointEvery: 0,
  ...changed
})

const row = (text: string, split: Split = "train"): MadeRow => ({ split, row: { text, score: 1 } })
const state = (groups: number): State => ({ cursor: { at: groups }, counts: { ...Counts.empty, groups } })
const line = (text: string) => `{"text":"${text}","score":1.0}\n`

/** Opens, writes these rows, and ends without finishing. */
const unfinished = (given: SetFiles.Options, ...rows: ReadonlyArray<MadeRow>) =>
  Effect.scoped(Effect.flatMap(SetFiles.open(given), (files) => files.append(rows, state(rows.length))))

const finished = (given: SetFiles.Options, ...rows: ReadonlyArray<MadeRow>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const files = yield* SetFiles.open(given)
      yield* files.append(rows, state(9))
      return yield* files.finish(state(9))
    })
  )

const test = (name: string, run: Effect.Effect<void, unknown, NodeServices.NodeServices | Scope.Scope>) =>
  it.effect(name, () => run.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("the files of a data set", () => {
  test(
    "go on from the checkpoint; what lies behind it is cut off",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const out = `${yield* Bin.folder}/set.jsonl`
      yield* unfinished(options(out), row("a"), row("b"))
      assert.isFalse(yield* fs.exists(out))
      yield* fs.writeFileString(`${out}.partial`, '{"text":"c","sc', { flag: "a" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const files = yield* SetFiles.open(options(out))
          assert.deepStrictEqual(files.before, Option.some(state(2)))
          yield* files.append([row("d")], state(3))
          const [written] = yield* files.finish(state(3))
          assert.deepInclude(written, { split: "train", path: out, rows: 3 })
        })
      )
      assert.strictEqual(yield* fs.readFileString(out), line("a") + line("b") + line("d"))
      assert.deepStrictEqual(yield* fs.readDirectory(out.replace("/set.jsonl", "")), ["set.jsonl"])
    })
  )

  test(
    "are not gone on with by other options, and can be begun anew",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const out = `${yield* Bin.folder}/set.jsonl`
      yield* unfinished(options(out), row("a"))
      const other = { identity: { format: "trl" } }
      const refused = yield* Effect.flip(unfinished(options(out, other), row("b")))
      assert.include(refused.message, 'format was "original", is "trl"')
      yield* finished(options(out, { ...other, resumes: false }), row("b"))
      assert.strictEqual(yield* fs.readFileString(out), line("b"))
    })
  )

  test(
    "of a run that read nothing leave nothing behind",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      yield* Effect.scoped(SetFiles.open(options(`${folder}/set.jsonl`)))
      assert.deepStrictEqual(yield* fs.readDirectory(folder), [])
    })
  )

  test(
    "are written by one at a time",
    Effect.gen(function* () {
      const out = `${yield* Bin.folder}/set.jsonl`
      yield* SetFiles.open(options(out))
      const refused = yield* Effect.flip(SetFiles.open(options(out)))
      assert.include(refused.message, `${out} is being written by another process (id ${process.pid})`)
    })
  )

  for (const container of ["jsonl", "parquet"] as const) {
    test(
      `become whole after a crash between two of them (${container})`,
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* Bin.folder
        const out = `${folder}/set.${container}`
        const split = { splits: ["train", "validation"], container } as const
        yield* unfinished(options(out, split), row("a"), row("b", "validation"))
        // As a crash leaves it behind the first of the last steps: one file has its name, and nothing else is cleaned
        // up.
        const train = `${folder}/set-train.${container}`
        if (container === "jsonl") yield* fs.rename(`${train}.partial`, train)
        else {
          const alone = { container } as const
          yield* finished(options(`${folder}/other.parquet`, alone), row("a"))
          yield* fs.rename(`${folder}/other.parquet`, train)
        }
        const checkpoint = JSON.parse(yield* fs.readFileString(`${out}.checkpoint.json`))
        checkpoint.isFinishing = true
        checkpoint.parts.train.whole = Number((yield* fs.stat(train)).size)
        yield* fs.writeFileString(`${out}.checkpoint.json`, JSON.stringify(checkpoint))

        const files = yield* Effect.scoped(
          Effect.flatMap(SetFiles.open(options(out, split)), ({ finish }) => finish(state(2)))
        )
        assert.deepStrictEqual(
          files.map(({ rows, split }) => [split, rows]),
          [
            ["train", 1],
            ["validation", 1]
          ]
        )
        assert.deepStrictEqual((yield* fs.readDirectory(folder)).sort(), [
          `set-train.${container}`,
          `set-validation.${container}`
        ])
      })
    )
  }

  test(
    "never take the place of what somebody else put there meanwhile",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const out = `${yield* Bin.folder}/set.jsonl`
      const files = yield* SetFiles.open(options(out))
      yield* files.append([row("a")], state(1))
      yield* fs.writeFileString(out, "theirs")
      const refused = yield* Effect.flip(files.finish(state(1)))
      assert.include(refused.message, "was created by another program in the meantime")
      assert.strictEqual(yield* fs.readFileString(out), "theirs")
      assert.strictEqual(yield* fs.readFileString(`${out}.partial`), line("a"))
    })
  )

  test(
    "that are added to keep their lines as they were, and a file with a bad line is left alone",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const out = `${yield* Bin.folder}/set.jsonl`
      const theirs = '{ "score": 1.50, "text": "ä" }\n'
      yield* fs.writeFileString(out, theirs)
      yield* finished(options(out, { appends: true }), row("b"))
      assert.strictEqual(yield* fs.readFileString(out), theirs + line("b"))
      yield* fs.writeFileString(out, `${theirs}{"te`)
      const refused = yield* Effect.flip(finished(options(out, { appends: true }), row("c")))
      assert.include(refused.message, "set.jsonl, line 2: is not JSON; new rows have text, score")
      assert.strictEqual(yield* fs.readFileString(out), `${theirs}{"te`)
    })
  )
})
