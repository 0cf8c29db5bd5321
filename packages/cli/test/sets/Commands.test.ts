import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { type Message, WireGroup } from "@atropos/core"
import { Effect, FileSystem, Layer, type Scope } from "effect"
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet"
import { TestConsole } from "effect/testing"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Report from "../../src/base/Report.ts"
import * as Root from "../../src/Root.ts"
import * as Fixtures from "../../../trainer/test/model/Fixtures.ts"
import * as Bin from "../Bin.ts"
import * as SampleGroups from "./SampleGroups.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer, Layer.succeed(Progress.Presenter, "lines"))

const text = (lines: ReadonlyArray<unknown>) => lines.map(String).join("\n")

/** Runs the command in this process: exit code and what it printed since the test began. */
const atropos = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const exit = yield* Effect.exit(Root.run(words))
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  return { code, stdout: text(yield* TestConsole.logLines), stderr: text(yield* TestConsole.errorLines) }
})

type Row = { readonly [column: string]: unknown }
type Chat = ReadonlyArray<{ readonly content: string }>

const rowsOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.readFileString(file))
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Row => JSON.parse(line))
})

const written = Effect.fnUntraced(function* (name: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* Bin.folder
  yield* fs.writeFileString(`${folder}/${name}`, content)
  return { folder, file: `${folder}/${name}`, out: `${folder}/out.jsonl` }
})

const bytes = ["--tokenizer", "bytes"] as const

const named = (answer: string) => [
  { role: "user", content: "Name an animal." },
  { role: "assistant", content: answer }
]

const prompts = (rows: ReadonlyArray<Row>) => new Set(rows.map(({ prompt }) => JSON.stringify(prompt)))

const test = (name: string, run: Effect.Effect<void, unknown, Layer.Success<typeof layer> | Scope.Scope>) =>
  it.effect(name, () => run.pipe(Effect.scoped, Effect.provide(layer)))

describe("sft-gen", () => {
  test(
    "writes the best of every group with the original's columns, and a report of what it left out",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { file, out } = yield* written("groups.jsonl", SampleGroups.lines(3))
      const { code, stdout } = yield* atropos("sft-gen", out, "--from", file, ...bytes)
      assert.strictEqual(code, 0)
      const rows = yield* rowsOf(out)
      assert.deepStrictEqual(rows.length, 6)
      assert.deepStrictEqual(rows[1], {
        prefix:
          "<|im_start|>system\nAnswer briefly.<|im_end|>\n<|im_start|>user\nWhat is 0 + 0?<|im_end|>\n<|im_start|>assistant\n",
        completion: "Perhaps 0? Größe 🙂<|im_end|>\n",
        score: 0.5
      })
      // Scores are floats in every line, whatever a reader guesses from the first.
      assert.include((yield* fs.readFileString(out)).split("\n")[0], '"score":1.0}')
      assert.match(stdout, /score_not_positive +6 /)
      const report = JSON.parse(yield* fs.readFileString(`${out}.report.json`))
      assert.deepInclude(report, { groups: { read: 3, used: 3 }, scores: { mean: 0.75, minimum: 0.5, maximum: 1 } })
      assert.strictEqual(report.dropped.score_not_positive.sequences, 6)
      // Nothing else is left behind.
      assert.deepStrictEqual((yield* fs.readDirectory(out.replace("/out.jsonl", ""))).sort(), [
        "groups.jsonl",
        "out.jsonl",
        "out.jsonl.report.json"
      ])
    })
  )

  test(
    "writes a report of its own for each output",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { file, folder } = yield* written("groups.jsonl", SampleGroups.lines(3))
      for (const [name, rows] of [
        ["set.jsonl", "2"],
        ["set.parquet", "3"]
      ] as const) {
        const words = ["--from", file, "--save-messages", "--num-seqs-to-save", rows]
        assert.strictEqual((yield* atropos("sft-gen", `${folder}/${name}`, ...words)).code, 0)
      }
      const wanted = yield* Effect.forEach(["set.jsonl", "set.parquet"], (name) =>
        Effect.map(fs.readFileString(`${folder}/${name}.report.json`), (text) => JSON.parse(text).rows.written)
      )
      assert.deepStrictEqual(wanted, [2, 3])
    })
  )

  test(
    "obeys every rule of selection",
    Effect.gen(function* () {
      const { file, folder } = yield* written("groups.jsonl", SampleGroups.lines(10))
      const scores = (...words: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const out = `${folder}/${words.join("")}.jsonl`
          const { code } = yield* atropos("sft-gen", out, "--from", file, "--save-messages", ...words)
          assert.strictEqual(code, 0)
          return (yield* rowsOf(out)).map(({ score }) => score)
        })
      assert.deepStrictEqual(yield* scores("--save-top-n-per-group", "1", "--num-seqs-to-save", "3"), [1, 1, 1])
      assert.deepStrictEqual(yield* scores("--num-seqs-to-save", "3"), [1, 0.5, 1])
      assert.deepStrictEqual(
        yield* scores("--allow-negative-scores", "--save-top-n-per-group", "4", "--num-seqs-to-save", "4"),
        [1, 0.5, 0, -1]
      )
      assert.deepStrictEqual(yield* scores("--minimum-score-diff-max-min", "1.5", "--num-seqs-to-save", "2"), [1, 1])
    })
  )

  test(
    "drops what is too long, a duplicate, or has nothing to take, each with its reason",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const masked = SampleGroups.sum(1, [["a", 1]])
      const groups = [
        SampleGroups.sum(1, [
          ["same", 1],
          ["same", 0.7],
          ["x".repeat(400), 1]
        ]),
        SampleGroups.sum(1, [["same", 0.9]]),
        { ...masked, masks: masked.masks.map((mask) => mask.map(() => 0)) }
      ]
      const { file, out } = yield* written(
        "groups.jsonl",
        `${groups.map(WireGroup.encode).join("\n")}\n{"scores":[1],"messages":[[]]}\n`
      )
      yield* atropos("sft-gen", out, "--from", file, ...bytes, "--dedupe", "--max-token-len", "300")
      assert.deepStrictEqual(
        (yield* rowsOf(out)).map(({ completion }) => completion),
        ["same<|im_end|>\n"]
      )
      const report = JSON.parse(yield* fs.readFileString(`${out}.report.json`))
      const reasons = Object.entries<{ sequences: number }>(report.dropped).map(([name, { sequences }]) => [
        name,
        sequences
      ])
      assert.deepStrictEqual(Object.fromEntries(reasons), {
        duplicate: 2,
        too_long: 1,
        nothing_written: 1,
        no_tokens: 1
      })
    })
  )

  test(
    "tells bad lines with file and number, and goes on",
    Effect.gen(function* () {
      const [good] = SampleGroups.lines(1).split("\n")
      const { file, out } = yield* written("groups.jsonl", `${good}\n{"tokens":\n[1,2]\n${good}\n${good?.slice(0, 50)}`)
      const { code, stderr, stdout } = yield* atropos("sft-gen", out, "--from", file, ...bytes)
      assert.strictEqual(code, 0)
      assert.match(stderr, /groups\.jsonl, line 2: is not JSON/)
      assert.match(stderr, /groups\.jsonl, line 3: is an array; expected a scored group/)
      assert.match(stderr, /groups\.jsonl, line 5: is truncated/)
      assert.match(stdout, /unreadable +3 lines, skipped/)
      assert.strictEqual((yield* rowsOf(out)).length, 4)
    })
  )

  test(
    "names private fields of groups once, and a file that is none",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const [good] = SampleGroups.lines(1).split("\n")
      const line = `${good?.slice(0, -1)},"seed":1}`
      const { file, folder, out } = yield* written("groups.jsonl", `${line}\n${line}\n`)
      const { stderr } = yield* atropos("sft-gen", out, "--from", file, ...bytes)
      assert.strictEqual(stderr.match(/unknown fields of a group, ignored from here on: seed/g)?.length, 1)
      for (const [name, says] of [
        [`${folder}/absent.jsonl`, "file not found"],
        [folder, "is a folder; expected a JSON Lines file"]
      ] as const) {
        const refused = yield* atropos("sft-gen", `${folder}/new.jsonl`, "--from", name, ...bytes)
        assert.strictEqual(refused.code, 2)
        assert.include(refused.stderr, says)
      }
      assert.notInclude((yield* fs.readDirectory(folder)).join(), "new")
    })
  )

  test(
    "takes several files, listed behind OUT or flag by flag",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { file, folder } = yield* written("a.jsonl", SampleGroups.lines(1))
      yield* fs.writeFileString(`${folder}/b.jsonl`, SampleGroups.lines(1, 7))
      for (const [index, words] of [
        [`${folder}/0.jsonl`, "--from", file, `${folder}/b.jsonl`, "--save-messages"],
        ["--from", file, "--from", `${folder}/b.jsonl`, `${folder}/1.jsonl`, "--save-messages"]
      ].entries()) {
        assert.strictEqual((yield* atropos("sft-gen", ...words)).code, 0)
        assert.strictEqual((yield* rowsOf(`${folder}/${index}.jsonl`)).length, 4)
      }
    })
  )

  test(
    "refuses to touch a file that is there, adds to it when told to, and not to one of another form",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { file, out } = yield* written("groups.jsonl", SampleGroups.lines(2))
      const words = ["sft-gen", out, "--from", file, ...bytes, "--num-seqs-to-save", "2"]
      yield* atropos(...words)
      const before = yield* fs.readFileString(out)
      const refused = yield* atropos(...words)
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "out.jsonl exists: use --append-to-previous to add to it")
      assert.strictEqual(yield* fs.readFileString(out), before)
      assert.strictEqual((yield* atropos(...words, "--append-to-previous")).code, 0)
      assert.strictEqual(yield* fs.readFileString(out), before + before)
      // What is there counts as written before.
      assert.strictEqual((yield* atropos(...words, "--append-to-previous", "--dedupe")).code, 0)
      assert.strictEqual((yield* rowsOf(out)).length, 6)
      const other = yield* atropos(...words, "--append-to-previous", "--format", "trl")
      assert.strictEqual(other.code, 2)
      assert.include(other.stderr, "line 1: has prefix, completion, score; new rows have prompt, completion, score")
      assert.strictEqual((yield* rowsOf(out)).length, 6)
    })
  )

  test(
    "puts no prompt into two splits, the same prompts with the same seed",
    Effect.gen(function* () {
      const { file, folder } = yield* written("groups.jsonl", SampleGroups.lines(60))
      const split = (name: string, seed: string) =>
        Effect.gen(function* () {
          const words = ["--validation-fraction", "0.3", "--seed", seed, "--save-messages", "--format", "trl"]
          yield* atropos("sft-gen", `${folder}/${name}.jsonl`, "--from", file, ...words, "--num-seqs-to-save", "1000")
          const train = prompts(yield* rowsOf(`${folder}/${name}-train.jsonl`))
          const validation = prompts(yield* rowsOf(`${folder}/${name}-validation.jsonl`))
          for (const prompt of validation) assert.isFalse(train.has(prompt))
          assert.strictEqual(train.size + validation.size, 60)
          assert.isTrue(validation.size > 6 && validation.size < 36)
          return [...validation]
        })
      const first = yield* split("a", "1")
      assert.deepStrictEqual(yield* split("b", "1"), first)
      assert.notDeepEqual(yield* split("c", "2"), first)
    })
  )

  test(
    "writes parquet with nested columns, and adds to it",
    Effect.gen(function* () {
      const { file, folder } = yield* written("groups.jsonl", SampleGroups.lines(2))
      const out = `${folder}/out.parquet`
      const words = ["sft-gen", out, "--from", file, "--save-messages", "--num-seqs-to-save", "3"]
      assert.strictEqual((yield* atropos(...words)).code, 0)
      assert.strictEqual((yield* atropos(...words, "--append-to-previous")).code, 0)
      const rows = yield* Effect.promise(async () => parquetReadObjects({ file: await asyncBufferFromFile(out) }))
      assert.strictEqual(rows.length, 6)
      assert.deepStrictEqual(rows[3], {
        messages: [
          { role: "system", content: "Answer briefly." },
          { role: "user", content: "What is 0 + 0?" },
          { role: "assistant", content: "It is 0." }
        ],
        score: 1
      })
    })
  )

  test(
    "keeps the numbers of arguments that are an object, and knows a row with them in either container",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const call = '{"id":"c","type":"function","function":{"name":"f","arguments":{"id":1234567890123456789,"x":1.5}}}'
      const chat = `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[${call}]}]`
      const { file, folder } = yield* written("groups.jsonl", `{"scores":[1],"messages":[${chat}]}\n`)
      for (const out of [`${folder}/out.jsonl`, `${folder}/out.parquet`]) {
        const words = ["sft-gen", out, "--from", file, "--save-messages", "--dedupe"]
        assert.strictEqual((yield* atropos(...words)).code, 0)
        const size = (yield* fs.stat(out)).size
        yield* atropos(...words, "--append-to-previous")
        assert.strictEqual((yield* fs.stat(out)).size, size)
      }
      assert.strictEqual(yield* fs.readFileString(`${folder}/out.jsonl`), `{"messages":${chat},"score":1.0}\n`)
      const file2 = yield* Effect.promise(() => asyncBufferFromFile(`${folder}/out.parquet`))
      const [row] = yield* Effect.promise(() => parquetReadObjects({ file: file2 }))
      const [, { tool_calls: calls }] = row!["messages"] as readonly [unknown, { readonly tool_calls: unknown }]
      const found = {
        id: "c",
        type: "function",
        function: { name: "f", arguments: { id: 1234567890123456789n, x: 1.5 } }
      }
      assert.deepStrictEqual(calls, [found])
    })
  )

  test(
    "rolls an environment out until there are enough rows",
    Effect.gen(function* () {
      const { folder } = yield* written("none", "")
      const out = `${folder}/out.jsonl`
      const { code, stdout } = yield* atropos(
        "sft-gen",
        out,
        `--env=${Bin.myEnvironment}`,
        "--testing",
        "--env.group_size=2",
        "--num-seqs-to-save=7",
        "--save-messages"
      )
      assert.strictEqual(code, 0)
      assert.match(stdout, /source +environment repeat/)
      const rows = yield* rowsOf(out)
      assert.strictEqual(rows.length, 7)
      // The scripted policy echoes, and is always right.
      for (const { messages, score } of rows) {
        const [asked, said] = messages as ReadonlyArray<Message.Message>
        assert.strictEqual(asked?.content, said?.content)
        assert.strictEqual(score, 1)
      }
      const both = yield* atropos("sft-gen", `${folder}/b.jsonl`, "--env", Bin.myEnvironment, "--from", "x.jsonl")
      assert.strictEqual(both.code, 2)
      assert.include(both.stderr, "--env and --from cannot be combined")
      const filtered = yield* atropos("sft-gen", `${folder}/b.jsonl`, "--env", Bin.myEnvironment, "--environment", "x")
      assert.strictEqual(filtered.code, 2)
      assert.include(filtered.stderr, "--environment and --env cannot be combined")
    })
  )

  test(
    "says what is wrong with the words before it reads anything",
    Effect.gen(function* () {
      const { file } = yield* written("groups.jsonl", SampleGroups.lines(1))
      for (const [words, says] of [
        [["-", "--output", "parquet"], "parquet cannot be written to standard output"],
        [["-", "--validation-fraction", "0.5"], "two splits cannot be written"],
        [["a.parquet", "--output", "jsonl"], "a.parquet has the extension of a parquet file, but --output is jsonl"],
        [["a.csv"], "a.csv would be JSON Lines, not what .csv means"],
        [["a.jsonl.gz"], "a.jsonl.gz would be JSON Lines, not what .gz means"],
        ...["--environment=sums", "--run=mine", "--step-from=3", "--step-to=9", "--api-url=http://localhost:1"].map(
          (word) => [["a.jsonl", word], `${word.split("=")[0]} and --from cannot be combined`] as const
        ),
        [["a.jsonl", "--from", file], `${file} is given twice`],
        [["a.jsonl", "--save-top-n-per-group", "0"], "--save-top-n-per-group: expected 1 or more"],
        [["a.jsonl", "--validation-fraction", "1"], "a number from 0 to below 1"]
      ] as const) {
        const { code, stderr } = yield* atropos("sft-gen", "--from", file, "--save-messages", ...words)
        assert.strictEqual(code, 2)
        assert.include(stderr, says)
      }
    })
  )

  test(
    "refuses text from messages by a tokenizer without a chat template, before it reads anything",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { file, folder, out } = yield* written("groups.jsonl", SampleGroups.lines(1))
      yield* fs.copy(Fixtures.folder("llama"), `${folder}/plain`)
      yield* fs.writeFileString(`${folder}/plain/tokenizer_config.json`, "{}")
      yield* fs.remove(`${folder}/plain/chat_template.jinja`, { force: true })
      const words = ["sft-gen", out, "--from", file, "--tokenizer", `${folder}/plain`, "--text-from"]
      const { code, stderr } = yield* atropos(...words, "messages")
      assert.strictEqual(code, 2)
      assert.include(stderr, `the tokenizer ${folder}/plain has no chat template`)
      assert.isFalse(yield* fs.exists(`${out}.report.json`))
    })
  )
})

describe("texts that are not Unicode", () => {
  test(
    "give no row, in either container, so that readers of data sets take the file",
    Effect.gen(function* () {
      const group = { scores: [1, 0.9, 0.8], messages: ["A 🐈.", "A \ud83d", "A dog."].map(named) }
      const { file, folder } = yield* written("groups.jsonl", `${JSON.stringify(group)}\n`)
      const words = ["--from", file, "--save-messages", "--format", "trl"]
      for (const name of ["out.jsonl", "out.parquet"]) {
        const { stdout } = yield* atropos("sft-gen", `${folder}/${name}`, ...words)
        assert.match(stdout, /not_unicode +1 /)
      }
      const kept = ["A 🐈.", "A dog."].map((answer) => named(answer).slice(1))
      const lines = yield* rowsOf(`${folder}/out.jsonl`)
      assert.deepStrictEqual(
        lines.map(({ completion }) => completion),
        kept
      )
      const pairs = yield* atropos("dpo-gen", `${folder}/pairs.jsonl`, ...words, "--minimum-score-diff-max-min", "0")
      assert.strictEqual(pairs.code, 0)
      for (const { chosen, rejected } of yield* rowsOf(`${folder}/pairs.jsonl`)) {
        assert.isTrue([chosen, rejected].every((turns) => (turns as Chat)[0]!.content.isWellFormed()))
      }
    })
  )
})

describe("dpo-gen", () => {
  test(
    "writes pairs of a better and a worse answer to the same prompt, the same ones with the same seed",
    Effect.gen(function* () {
      const { file, folder } = yield* written("groups.jsonl", SampleGroups.lines(20))
      const pairs = (name: string, ...words: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const { code } = yield* atropos("dpo-gen", `${folder}/${name}.jsonl`, "--from", file, ...bytes, ...words)
          assert.strictEqual(code, 0)
          return yield* rowsOf(`${folder}/${name}.jsonl`)
        })
      const original = yield* pairs("a")
      assert.deepStrictEqual(Object.keys(original[0]!), ["prefix", "pos", "score", "neg"])
      assert.deepStrictEqual(yield* pairs("b"), original)
      assert.notDeepEqual(yield* pairs("c", "--seed", "1"), original)
      for (const { score_chosen, score_rejected } of yield* pairs("d", "--format", "trl")) {
        assert.isAbove(Number(score_chosen) - Number(score_rejected), 0.5)
      }
      const far = yield* pairs("e", "--format", "trl", "--minimum-score-diff-max-min", "1.9")
      assert.deepStrictEqual([...new Set(far.map(({ score_rejected }) => score_rejected))], [-1])
    })
  )

  test(
    "makes no pair of answers to different prompts, or of the same answer",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const other = SampleGroups.sum(2, [["No.", 0]])
      const one = SampleGroups.sum(1, [
        ["Yes.", 1],
        ["Yes.", 0]
      ])
      const mixed = {
        ...one,
        tokens: [one.tokens[0]!, other.tokens[0]!],
        masks: [one.masks[0]!, other.masks[0]!],
        messages: [one.messages![0]!, other.messages![0]!]
      }
      const { file, folder } = yield* written("groups.jsonl", `${[one, mixed].map(WireGroup.encode).join("\n")}\n`)
      for (const [name, words] of [
        ["text", bytes],
        ["messages", ["--save-messages"]]
      ] as const) {
        const { code, stderr } = yield* atropos("dpo-gen", `${folder}/${name}.jsonl`, "--from", file, ...words)
        assert.strictEqual(code, 1)
        assert.include(stderr, "yielded no rows")
        const { dropped } = JSON.parse(yield* fs.readFileString(`${folder}/${name}.jsonl.report.json`))
        assert.strictEqual(dropped.prompts_differ.sequences, 1)
        assert.strictEqual(dropped.same_completion.sequences, 1)
        assert.isFalse(yield* fs.exists(`${folder}/${name}.jsonl`))
      }
    })
  )
})
