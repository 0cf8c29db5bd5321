import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Logger, Path, type Scope, Schema, Stream } from "effect"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import * as Columns from "../../src/data/Columns.ts"
import * as Dataset from "../../src/data/Dataset.ts"

const Problem = Schema.Struct({ question: Schema.NonEmptyString, answer: Schema.NonEmptyString })
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

/** Runs a test in a folder of its own, with these environment variables. */
const inFolder = <A, E>(
  test: (folder: string) => Effect.Effect<A, E, Dataset.Dataset | FileSystem.FileSystem | Path.Path | Scope.Scope>,
  env: { readonly [name: string]: string } = {}
) =>
  Effect.gen(function* () {
    const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
    return yield* test(folder).pipe(
      Effect.provide(
        Dataset.layer.pipe(
          Layer.provideMerge(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { HF_HOME: folder, ...env } })))
        )
      )
    )
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const column = <A>(name: string, kind: Columns.Kind<A>) => ({ setting: name, column: name, kind })

const rowsOf = <A, I>(source: string, row: Schema.Codec<A, I, never, unknown>) =>
  Effect.flatMap(Dataset.Dataset, (dataset) => dataset.rows(source, row))

const written = Effect.fnUntraced(function* (folder: string, name: string, text: string) {
  const path = (yield* Path.Path).join(folder, name)
  yield* (yield* FileSystem.FileSystem).writeFileString(path, text)
  return path
})

const rows = [
  { question: "one plus one", answer: "2" },
  { question: "Größe", answer: "3" }
]

/** A line of JSON Lines. */
const line = (question: string) => `${JSON.stringify({ question, answer: "a" })}\n`

const inEachForm = (rows: ReadonlyArray<{ readonly question: string; readonly answer: string }>) => ({
  "rows.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  "rows.json": JSON.stringify(rows),
  "rows.csv": `question,answer\n${rows.map(({ answer, question }) => `${question},${answer}`).join("\n")}\n`
})

describe("Dataset, files", () => {
  const problems = [
    { question: 'A "quoted", [odd] {question}\\\\', answer: "#### 1" },
    { question: "Größe 🙂\nof two lines", answer: "#### 2" }
  ]
  const contents: { readonly [name: string]: string } = {
    "rows.jsonl": `${problems.map((row) => JSON.stringify(row)).join("\n\n")}\r\n`,
    "rows.json": JSON.stringify(problems, null, 2),
    "one-after-another.json": problems.map((row) => JSON.stringify(row, null, 1)).join(""),
    "rows.csv": `question,answer\n${problems.map(({ answer, question }) => `"${question.replaceAll('"', '""')}",${answer}`).join("\n")}\n`
  }
  it.effect.skipIf(process.platform === "win32")(
    "refuses a pipe instead of waiting for what may never write to it",
    () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const path = (yield* Path.Path).join(folder, "rows.jsonl")
          execFileSync("mkfifo", [path])
          const { message } = yield* Effect.flip(rowsOf(path, Problem))
          assert.include(message, "is not a regular file but a FIFO")
        })
      )
  )

  for (const [name, text] of Object.entries(contents)) {
    it.effect(`reads ${name}`, () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const path = yield* written(folder, name, text)
          assert.deepStrictEqual(yield* rowsOf(path, Problem), problems)
        })
      )
    )
  }

  it.effect("cuts large files between rows, wherever the pieces end", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const rows = Array.from({ length: 4000 }, (_, n) => ({
          question: `é"\\${n}[{`.repeat(1 + (n % 40)),
          answer: "x"
        }))
        const array = yield* written(folder, "a.json", JSON.stringify(rows))
        const lines = yield* written(folder, "a.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"))
        assert.deepStrictEqual(yield* rowsOf(array, Problem), rows)
        assert.deepStrictEqual(yield* rowsOf(lines, Problem), rows)
      })
    )
  )

  it.effect("reads parquet with its compressions, integers and nested values", () =>
    inFolder(() =>
      Effect.gen(function* () {
        const Row = Schema.Struct({
          id: Schema.Int,
          choices: Schema.Array(Schema.String),
          meta: Schema.Struct({ big: Schema.Union([Schema.Int, Schema.BigInt]) })
        })
        const rows = yield* rowsOf(fixture("parquet/1.parquet"), Row)
        assert.deepStrictEqual(
          rows.map(({ id }) => id),
          [5, 6, 7, 8, 9]
        )
        assert.deepStrictEqual(rows[2], { id: 7, choices: ["7", "é"], meta: { big: 2n ** 60n } })
      })
    )
  )

  const numbers: ReadonlyArray<readonly [written: string, text: string, value: number | bigint]> = [
    ["2432902008176640001", "2432902008176640001", 2432902008176640001n],
    ["9007199254740993", "9007199254740993", 9007199254740993n],
    ["-18446744073709551616", "-18446744073709551616", -18446744073709551616n],
    ["12", "12", 12],
    ["1.0", "1.0", 1],
    ["1.50", "1.50", 1.5],
    ["3.141592653589793238462643", "3.141592653589793238462643", 3.141592653589793],
    ["1e5", "1e5", 100000]
  ]
  for (const [written_, text, value] of numbers) {
    it.effect(`reads ${written_} as it is written where a text is wanted, and as a number elsewhere`, () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          for (const name of ["rows.jsonl", "rows.json"]) {
            const row = `{"question": "q", "answer": ${written_}, "list": [${written_}]}`
            const path = yield* written(folder, name, name === "rows.json" ? `[${row}]` : row)
            const [picked] = yield* Columns.rows(path, {
              answer: column("answer", Columns.text),
              list: column("list", Columns.texts),
              inside: column("list.0", Columns.text),
              any: column("answer", Columns.anything)
            })
            assert.deepStrictEqual(picked, { answer: text, list: [text], inside: text, any: value })
            assert.deepStrictEqual(yield* rowsOf(path, Schema.Unknown), [
              { question: "q", answer: value, list: [value] }
            ])
          }
        })
      )
    )
  }

  it.effect("refuses a number that a schema of numbers would round", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(folder, "rows.jsonl", '{"id": 2512292042121000001}')
        const error = yield* Effect.flip(rowsOf(path, Schema.Struct({ id: Schema.Number })))
        assert.include(error.message, "field id: Expected number")
        assert.deepStrictEqual(yield* rowsOf(path, Schema.Struct({ id: Schema.BigInt })), [
          { id: 2512292042121000001n }
        ])
      })
    )
  )

  it.effect("reads a number beyond a double as a text, and rejects it where a number must be", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(folder, "rows.jsonl", '{"answer":1}\n{"answer":1e400}\n{"answer":[-1e400]}\n')
        const texts = yield* Columns.rows(path, { answer: column("answer", Columns.text) })
        assert.deepStrictEqual(texts, [{ answer: "1" }, { answer: "1e400" }])
        const values = yield* Columns.rows(path, { answer: column("answer", Columns.anything) })
        assert.deepStrictEqual(values, [{ answer: 1 }, { answer: "1e400" }, { answer: ["-1e400"] }])
        const all = yield* rowsOf(path, Schema.Unknown)
        assert.deepStrictEqual(all, values)
        const error = yield* Effect.flip(rowsOf(path, Schema.Struct({ answer: Schema.Number })))
        assert.match(
          error.message,
          /rows\.jsonl, line 2, field answer: the number 1e400 is beyond the range of a double; write it as text/
        )
        // A column that is not read does no harm.
        assert.lengthOf(yield* rowsOf(path, Schema.Struct({})), 3)
      })
    )
  )

  it.effect("reads lists of answers", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(
          folder,
          "rows.jsonl",
          '{"a":["2"]}\n{"a":[1.0, "3"]}\n{"a":5}\n{"a":[]}\n{"a":[[1]]}\n'
        )
        assert.deepStrictEqual(yield* Columns.rows(path, { a: column("a", Columns.answer) }), [
          { a: "2" },
          { a: '["1.0","3"]' },
          { a: "5" }
        ])
      })
    )
  )

  it.effect("gives every id beyond 2^53 one type, also one that a double holds", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(folder, "rows.jsonl", '{"id":1234567890123456789}\n{"id":1234567890123456800}\n')
        const ids = yield* rowsOf(path, Schema.Struct({ id: Schema.BigInt }))
        assert.deepStrictEqual(ids, [{ id: 1234567890123456789n }, { id: 1234567890123456800n }])
      })
    )
  )

  it.effect("reads LZ4 parquet with columns of nulls, null lists and structs as null, and warns of cut times", () =>
    inFolder(() =>
      Effect.gen(function* () {
        const said: Array<string> = []
        const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
        const rows = yield* rowsOf(fixture("parquet/edges.parquet"), Schema.Unknown).pipe(Effect.provide(logger))
        const nanos = new Date(1_700_000_000_123)
        assert.deepStrictEqual(rows, [
          { question: "a", note: null, list: null, meta: null, seconds: new Date(1_000_000_000), nanos, time: 1 },
          { question: "b", note: null, list: ["x"], meta: { n: null }, seconds: null, nanos, time: 2 }
        ])
        assert.match(said.join("\n"), /^\S*edges\.parquet: timestamps are read to the millisecond[^\n]*$/)
      })
    )
  )

  it.effect("reads integers and decimals of parquet exactly, nested ones too", () =>
    inFolder(() =>
      Effect.gen(function* () {
        const source = fixture("parquet/numbers.parquet")
        const text = (name: string) => column(name, Columns.optional(Columns.text))
        const rows = yield* Columns.rows(source, {
          id: text("id"),
          unsigned: text("unsigned"),
          price: text("price"),
          total: text("total"),
          whole: text("whole"),
          part: text("nested.parts.0"),
          named: text("nested.by_name.total")
        })
        assert.deepStrictEqual(rows, [
          {
            id: "2512292042121000001",
            unsigned: "18446744073709551615",
            price: "-0.05",
            total: "1234567890123456789012345678.0000000001",
            whole: "12345678901234567890",
            part: "0.1000000000",
            named: "7.50"
          },
          { id: "7", unsigned: "0", price: null, total: "5.0000000000", whole: "3", part: null, named: null }
        ])
        const [first] = yield* rowsOf(source, Schema.Unknown)
        assert.deepInclude(first, {
          price: -0.05,
          whole: 12345678901234567890n,
          total: "1234567890123456789012345678.0000000001"
        })
      })
    )
  )

  const faults: ReadonlyArray<{
    readonly name: string
    readonly text: string
    readonly row: number
    readonly field?: string
    readonly says: string
  }> = [
    {
      name: "wrong.jsonl",
      text: '{"question": "q", "answer": "a"}\n\n{"question": "q", "answer": 5}\n',
      row: 3,
      field: "answer",
      says: "wrong.jsonl, line 3, field answer: Expected string"
    },
    {
      name: "missing.json",
      text: '[{"question": "q"}]',
      row: 1,
      field: "answer",
      says: 'missing.json, row 1: unknown column "answer"; the columns are question'
    },
    {
      name: "cut.json",
      text: '[{"question": "q", "answer": "a"}, {"question": "q"',
      row: 2,
      says: "cut.json, row 2: not JSON"
    },
    {
      name: "twice.json",
      text: '[{"question": "q", "answer": "a"}, {"question": "\\":", "answer": "a", "answer": "b"}]',
      row: 2,
      says: 'twice.json, row 2: the key "answer" is repeated'
    },
    {
      name: "open.csv",
      text: 'question,answer\nq,a\n"q,a\nq,a\nq,a\n',
      row: 3,
      says: "open.csv, line 3: a quote in this row is not closed"
    },
    {
      name: "open-heading.csv",
      text: 'question,"answer\nq,a\n',
      row: 1,
      says: "open-heading.csv, line 1: a quote in this row is not closed"
    },
    { name: "short.csv", text: "question,answer\nq,a\nq\n", row: 3, says: "short.csv, line 3: Invalid Record Length" },
    {
      name: "empty.csv",
      text: "question,answer\nq,a\n,a\n",
      row: 3,
      field: "question",
      says: "empty.csv, line 3, field question"
    }
  ]
  for (const { field, name, row, says, text } of faults) {
    it.effect(`says where ${name} is wrong`, () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const path = yield* written(folder, name, text)
          const error = yield* Effect.flip(rowsOf(path, Problem))
          assert.include(error.message, says)
          assert.strictEqual(error.row, row)
          assert.strictEqual(error.field, field)
        })
      )
    )
  }

  it.effect("skips lines that are not JSON, and tells each with its number", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(
          folder,
          "broken.jsonl",
          `${problems.map((row) => JSON.stringify(row)).join("\n{oh\n")}\n{"question`
        )
        const said: Array<string> = []
        const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
        assert.deepStrictEqual(yield* rowsOf(path, Problem).pipe(Effect.provide(logger)), problems)
        assert.match(said[0] ?? "", /skipped: .*broken\.jsonl, line 2: not JSON/)
        assert.match(said[1] ?? "", /skipped: .*broken\.jsonl, line 4: not JSON/)
        assert.match(said[2] ?? "", /broken\.jsonl: 2 of 4 lines are invalid and were skipped/)
      })
    )
  )

  it.effect("skips what is nested deeper than any row: whatever recursed over it would end the process", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const deep = `{"question": ${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}, "answer": "2"}`
        const lines = yield* written(folder, "deep.jsonl", `${deep}\n${JSON.stringify(problems[0])}\n`)
        const said: Array<string> = []
        const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
        assert.deepStrictEqual(yield* rowsOf(lines, Problem).pipe(Effect.provide(logger)), problems.slice(0, 1))
        assert.match(said[0] ?? "", /deep\.jsonl, line 1: not JSON: nested more than 200 levels deep/)
        const list = yield* written(folder, "deep.json", `[${deep}]`)
        assert.match((yield* Effect.flip(rowsOf(list, Problem))).message, /row 1: not JSON: nested more than/)
      })
    )
  )

  it.effect("fails where no line is JSON", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(folder, "words.jsonl", "one\ntwo\n")
        assert.include((yield* Effect.flip(rowsOf(path, Problem))).message, "no valid lines")
      })
    )
  )

  const umlauts = [{ question: "Wie spät?" }, { question: "Wie früh?" }]
  const texts: { readonly [name: string]: string } = {
    "encoded.csv": "question\nWie spät?\nWie früh?\n",
    "encoded.json": JSON.stringify(umlauts),
    "encoded.jsonl": umlauts.map((row) => `${JSON.stringify(row)}\n`).join("")
  }
  it.effect("refuses text that is not UTF-8, and reads what has a byte order mark", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        for (const [name, text] of Object.entries(texts)) {
          const file = path.join(folder, name)
          for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`)]) {
            yield* fs.writeFile(file, bytes)
            assert.deepStrictEqual(yield* rowsOf(file, Schema.Unknown), umlauts)
          }
          // Of lines that are JSON each, those that can be read are.
          const cut = name.endsWith(".jsonl") ? [] : [Buffer.from(`${text.trimEnd()}ä`).subarray(0, -1)]
          for (const bytes of [Buffer.from(text, "latin1"), Buffer.from(`\ufeff${text}`, "utf16le").swap16(), ...cut]) {
            yield* fs.writeFile(file, bytes)
            const refused = yield* Effect.flip(rowsOf(file, Schema.Unknown)).pipe(Effect.provide(Logger.layer([])))
            assert.match(refused.message, /not UTF-8 text|is text in UTF-16; .*convert it to UTF-8/)
          }
        }
        const utf16 = path.join(folder, "encoded.csv")
        yield* fs.writeFile(utf16, Buffer.from(`\ufeff${texts["encoded.csv"]}`, "utf16le"))
        assert.deepStrictEqual(yield* rowsOf(utf16, Schema.Unknown), umlauts)
      })
    )
  )

  for (const name of ["absent.jsonl", "absent.csv", "absent.parquet"]) {
    it.effect(`says that ${name} cannot be read`, () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(rowsOf(`${folder}/${name}`, Problem))
          assert.include(error.message, `${name} cannot be read`)
        })
      )
    )
  }

  for (const [name, text, says] of [
    ["semicolons.csv", "question;answer\na;1\n", /one column is named "question;answer": .*not by semicolons/],
    ["decimals.csv", "question;answer\na;1,5\n", /line 1: one column is named .*not by semicolons/],
    ["tabs.csv", "question\tanswer\na\t1\n", /not by tabs/],
    ["twice.csv", "question,answer,answer\na,1,2\n", /two columns are named "answer": rename one of them/],
    ["nameless.csv", "question,answer,\na,1,\n", /column 3 has no name/],
    ["rows.json", JSON.stringify({ rows: problems }), /is one object, whose "rows" contains the rows/],
    ["named.json", JSON.stringify({ version: 1, data: problems }), /whose "data" contains the rows/],
    ["single.json", JSON.stringify({ my_rows: problems }), /whose "my_rows" contains the rows/]
  ] as const) {
    it.effect(`names what is wrong with ${name}, which would leave every column undefined`, () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const path = yield* written(folder, name, text)
          const error = yield* Effect.flip(rowsOf(path, Schema.Unknown))
          assert.match(error.message, says)
        })
      )
    )
  }

  it.effect("reads what only looks like that: one row with a chat, columns whose names have a semicolon", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const chat = { id: 1, messages: [{ role: "user", content: "hi" }] }
        const one = yield* written(folder, "one.json", JSON.stringify(chat))
        assert.deepStrictEqual(yield* rowsOf(one, Schema.Unknown), [chat])
        const csv = yield* written(folder, "odd.csv", "a;b,c\n1,2\n")
        assert.deepStrictEqual(yield* rowsOf(csv, Schema.Unknown), [{ "a;b": "1", c: "2" }])
        const single = yield* written(folder, "single.csv", "question\nhow; so?\n")
        assert.deepStrictEqual(yield* rowsOf(single, Schema.Unknown), [{ question: "how; so?" }])
      })
    )
  )

  it.effect("says that a file is no parquet file", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = yield* written(folder, "text.parquet", "question,answer\nq,a\n")
        assert.include(
          (yield* Effect.flip(rowsOf(path, Problem))).message,
          "text.parquet cannot be read: it is not a parquet file, or is corrupt"
        )
      })
    )
  )

  it.effect("reads text files compressed by gzip, and values separated by tabs", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { join } = yield* Path.Path
        const fs = yield* FileSystem.FileSystem
        const tabs = `question\tanswer\n${rows.map(({ answer, question }) => `${question}\t${answer}`).join("\n")}\n`
        for (const [name, text] of Object.entries({ ...inEachForm(rows), "rows.tsv": tabs })) {
          assert.deepStrictEqual(yield* rowsOf(yield* written(folder, name, text), Problem), rows, name)
          const path = join(folder, `${name}.gz`)
          yield* fs.writeFile(path, gzipSync(text))
          assert.deepStrictEqual(yield* rowsOf(path, Problem), rows, `${name}.gz`)
        }
        for (const name of ["broken.jsonl.gz", "broken.csv.gz", "broken.json.gz"]) {
          const path = join(folder, name)
          yield* fs.writeFile(path, gzipSync(tabs).subarray(0, 40))
          assert.include((yield* Effect.flip(rowsOf(path, Problem))).message, "unexpected end of file")
        }
        const commas = yield* written(folder, "commas.tsv", "question,answer\na,b\n")
        assert.include(
          (yield* Effect.flip(rowsOf(commas, Problem))).message,
          "values must be separated by tabs, not by commas"
        )
      })
    )
  )

  it.effect("reads a folder in the layout of the hub's data sets, and names its splits", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { join } = yield* Path.Path
        const fs = yield* FileSystem.FileSystem
        const make = Effect.fnUntraced(function* (name: string, files: { readonly [name: string]: string }) {
          yield* fs.makeDirectory(join(folder, name), { recursive: true })
          for (const [file, text] of Object.entries(files)) yield* written(folder, join(name, file), text)
          return join(folder, name)
        })
        const questions = (path: string) =>
          Effect.map(rowsOf(path, Problem), (all) => all.map(({ question }) => question))
        const problem = (path: string) => Effect.map(Effect.flip(rowsOf(path, Problem)), ({ message }) => message)

        const one = yield* make("one", { "rows.jsonl": line("1"), "README.md": "", "dataset_info.json": "{}" })
        assert.deepStrictEqual(yield* questions(one), ["1"])

        yield* make("hub/data", {
          "train-00001-of-00002.jsonl": line("2"),
          "train-00000-of-00002.jsonl": line("1"),
          "test-00000-of-00001.jsonl": line("3")
        })
        const hub = join(folder, "hub")
        assert.match(
          yield* problem(hub),
          /hub is a folder with the splits or files test, train: give one, .*hub\/train$/
        )
        assert.deepStrictEqual(yield* questions(join(hub, "train")), ["1", "2"])
        assert.deepStrictEqual(yield* questions(join(hub, "test")), ["3"])
        assert.isTrue(yield* Dataset.exists(join(hub, "train")))
        assert.isFalse(yield* Dataset.exists(join(hub, "validation")))

        // Rows that a download has not brought yet are no smaller data set.
        const half = yield* make("half", { "train-00000-of-00002.jsonl": line("1") })
        assert.include(yield* problem(half), "1 of the 2 files of a split")
        const twice = yield* make("twice", { "train.csv": "question,answer\na,b\n", "train.jsonl": line("1") })
        assert.include(yield* problem(twice), "several files (train.csv, train.jsonl): give one")
        const saved = yield* make("saved", { "data-00000-of-00001.arrow": "", "dataset_info.json": "{}" })
        assert.include(
          yield* problem(saved),
          "Arrow files, as save_to_disk writes them: write the rows with to_parquet"
        )
        assert.include(yield* problem(yield* make("none", { "README.md": "" })), "no files of rows: expected .jsonl")
      })
    )
  )

  it.effect("says what a source looks like", () =>
    inFolder(() =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(rowsOf("rows", Problem))
        assert.include(error.message, "owner/name/configuration/split")
        // These are paths; a hub is not asked for them, be they three words long.
        for (const path of ["rows.txt", "./nowhere/rows/train", "../rows/of/train"]) {
          const local = yield* Effect.flip(rowsOf(path, Problem))
          assert.include(local.message, `${path} is not a supported file of rows: expected .`)
        }
      })
    )
  )
})

interface Exchange {
  readonly path: string
  readonly authorization: string | undefined
  readonly range: string | undefined
}

/** A server that speaks the hub's data set API, with what it was asked; `answer` may take a request over. */
const hubServer = (
  answer: (request: IncomingMessage, response: ServerResponse, asked: ReadonlyArray<Exchange>) => boolean = () => false
) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: ReadonlyArray<Exchange>; readonly close: () => void }>(
      (resume) => {
        const asked: Array<Exchange> = []
        const server = createServer((request, response) => {
          const { authorization, range } = request.headers
          const path = request.url ?? ""
          asked.push({ path, authorization, range })
          if (answer(request, response, asked)) return
          const base = `http://${request.headers.host ?? ""}`
          const json = (value: unknown): void => void response.end(JSON.stringify(value))
          const file = /\/(main|other)\/train\/(\d)\.parquet$/.exec(path)
          if (file !== null) {
            const bytes = readFileSync(fixture(`parquet/${file[2]}.parquet`))
            response.setHeader("etag", '"v1"')
            const from = range === undefined ? 0 : Number(/bytes=(\d+)-/.exec(range)?.[1])
            response.writeHead(from > 0 ? 206 : 200).end(bytes.subarray(from))
          } else if (path === "/api/datasets/owner/sums/parquet")
            json({ main: { train: [] }, other: { train: [], test: [] } })
          else if (path === "/api/datasets/owner/plain/parquet") json({ default: { train: [] } })
          else if (/^\/api\/datasets\/owner\/(sums\/parquet\/main|plain\/parquet\/default)\/train$/.test(path)) {
            json([0, 1].map((index) => `${base}${path}/main/train/${index}.parquet`))
          } else response.writeHead(404).end()
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" ? address?.port : 0
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close: () => server.closeAllConnections() }))
        })
        server.unref()
      }
    ),
    ({ close }) => Effect.sync(close)
  )

describe("Dataset, hub", () => {
  const Row = Schema.Struct({ id: Schema.Int, question: Schema.NonEmptyString })
  const ids = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

  it.live("downloads the files of a split once, with the token, and reads them offline afterwards", () =>
    Effect.gen(function* () {
      const hub = yield* hubServer()
      const home = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const env = { HF_HOME: home, HF_ENDPOINT: `${hub.url}/`, HF_TOKEN: "secret" }
      const read = rowsOf("owner/sums/main/train", Row)
      const [one, other] = yield* inFolder(() => Effect.all([read, read], { concurrency: 2 }), env)
      assert.deepStrictEqual(
        one.map(({ id }) => id),
        ids
      )
      assert.deepStrictEqual(one, other)
      assert.strictEqual(hub.asked.length, 3)
      assert.isTrue(hub.asked.every(({ authorization }) => authorization === "Bearer secret"))
      assert.deepStrictEqual((yield* inFolder(() => read, { ...env, HF_HUB_OFFLINE: "1" })).length, 10)
      assert.strictEqual(hub.asked.length, 3)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("keeps the token from other servers", () =>
    Effect.gen(function* () {
      const store = yield* hubServer()
      const hub = yield* hubServer((request, response) => {
        if (!request.url?.endsWith("/train")) return false
        response.end(JSON.stringify([`${store.url}/main/train/0.parquet`]))
        return true
      })
      const env = { HF_ENDPOINT: hub.url, HF_TOKEN: "secret" }
      assert.strictEqual((yield* inFolder(() => rowsOf("owner/sums/main/train", Row), env)).length, 5)
      assert.deepStrictEqual(
        store.asked.map(({ authorization }) => authorization),
        [undefined]
      )
    }).pipe(Effect.scoped)
  )

  it.live("takes the only configuration, and lists several", () =>
    Effect.gen(function* () {
      const { url } = yield* hubServer()
      const env = { HF_ENDPOINT: url }
      assert.strictEqual((yield* inFolder(() => rowsOf("owner/plain/train", Row), env)).length, 10)
      const error = yield* Effect.flip(inFolder(() => rowsOf("owner/sums/train", Row), env))
      assert.include(error.message, "main/train, other/train, other/test")
      const typo = yield* Effect.flip(inFolder(() => rowsOf("owner/sums/main/trian", Row), env))
      assert.include(typo.message, "unknown configuration or split; available: main/train")
      const unknown = yield* Effect.flip(inFolder(() => rowsOf("owner/nothing/main/train", Row), env))
      assert.include(unknown.message, "404")
    }).pipe(Effect.scoped)
  )

  it.live("continues a download that broke off", () =>
    Effect.gen(function* () {
      const home = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const partial = `${home}/atropos/datasets/owner--sums/main/train/1.parquet.${process.pid}.partial`
      const { asked, url } = yield* hubServer((request, response, before) => {
        const isFirst = before.filter(({ path }) => path.endsWith("/1.parquet")).length === 1
        if (!request.url?.endsWith("/1.parquet") || !isFirst) return false
        const bytes = readFileSync(fixture("parquet/1.parquet"))
        response.writeHead(200, { etag: '"v1"', "content-length": bytes.length })
        response.write(bytes.subarray(0, 700))
        // The connection breaks once the client has put on disk what it got.
        const watch = (): void => {
          if (existsSync(partial) && statSync(partial).size === 700) response.destroy()
          else setImmediate(watch)
        }
        watch()
        return true
      })
      const env = { HF_HOME: home, HF_ENDPOINT: url }
      const rows = yield* inFolder(() => rowsOf("owner/sums/main/train", Row), env)
      assert.deepStrictEqual(
        rows.map(({ id }) => id),
        ids
      )
      assert.deepStrictEqual(asked.findLast(({ path }) => path.endsWith("/1.parquet"))?.range, "bytes=700-")
      assert.isFalse(existsSync(partial))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("continues the download of a process that died", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const home = yield* files.makeTempDirectoryScoped()
      const folder = `${home}/atropos/datasets/owner--sums/main/train`
      // Larger than any process id.
      const left = `${folder}/0.parquet.999999999.partial`
      yield* files.makeDirectory(folder, { recursive: true })
      yield* files.writeFile(left, readFileSync(fixture("parquet/0.parquet")).subarray(0, 1000))
      yield* files.writeFileString(`${left}.etag`, '"v1"')
      const { asked, url } = yield* hubServer()
      const read = rowsOf("owner/sums/main/train", Row)
      assert.strictEqual((yield* inFolder(() => read, { HF_HOME: home, HF_ENDPOINT: url })).length, 10)
      assert.deepStrictEqual(
        asked.map(({ range }) => range).filter((range) => range !== undefined),
        ["bytes=1000-"]
      )
      assert.deepStrictEqual((yield* files.readDirectory(folder)).sort(), ["0.parquet", "1.parquet", "parquet.json"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  const refusals: ReadonlyArray<readonly [status: number, says: string]> = [
    [401, "set HF_TOKEN to an access token"],
    [403, "accept the repository's conditions"],
    [400, "check HF_ENDPOINT"]
  ]
  for (const [status, says] of refusals) {
    it.live(`says what to do about ${status}`, () =>
      Effect.gen(function* () {
        const { url } = yield* hubServer((_, response) => {
          response.writeHead(status).end()
          return true
        })
        const error = yield* Effect.flip(inFolder(() => rowsOf("owner/sums/main/train", Row), { HF_ENDPOINT: url }))
        assert.include(error.message, says)
      }).pipe(Effect.scoped)
    )
  }

  it.live("says what to do without a network", () =>
    Effect.gen(function* () {
      const read = inFolder(() => rowsOf("owner/sums/main/train", Row), { HF_ENDPOINT: "http://127.0.0.1:9" })
      assert.include((yield* Effect.flip(read)).message, "use a local file or set HF_HOME to a filled cache")
      const offline = inFolder(() => rowsOf("owner/sums/main/train", Row), { HF_HUB_OFFLINE: "true" })
      assert.include((yield* Effect.flip(offline)).message, "HF_HUB_OFFLINE is set")
    })
  )
})

const digestOf = (rows: ReadonlyArray<unknown>, seed: number) => Dataset.shuffle(rows, { seed }).digest

describe("Dataset.shuffle", () => {
  const rows = Array.from({ length: 10 }, (_, index) => index)
  const taken = (seed: number, cursor: number, count: number) =>
    Dataset.shuffle(rows, { seed })(cursor).pipe(Stream.take(count), Stream.runCollect)

  it.effect("gives every row once an epoch, in a fresh order each", () =>
    Effect.gen(function* () {
      const items = yield* taken(1, 0, 30)
      const epochs = [0, 10, 20].map((at) => items.slice(at, at + 10))
      for (const epoch of epochs)
        assert.deepStrictEqual(
          [...epoch].sort((left, right) => left - right),
          rows
        )
      assert.notDeepEqual(epochs[0], epochs[1])
      assert.notDeepEqual(epochs[1], epochs[2])
      assert.notDeepEqual(epochs[0], yield* taken(2, 0, 10))
    })
  )

  it.effect.prop("goes on at any cursor", [Schema.Natural, Schema.Natural], ([seed, cursor]) =>
    Effect.gen(function* () {
      const start = cursor % 97
      assert.deepStrictEqual(yield* taken(seed, start, 25), (yield* taken(seed, 0, start + 25)).slice(start))
    })
  )

  it.effect("has a digest of its rows, their order and the seed", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 600 }, (_, n) => ({ n, text: `row ${n}`, bytes: Uint8Array.of(n % 256) }))
      const digest = yield* digestOf(rows, 1)
      assert.strictEqual(yield* digestOf(structuredClone(rows), 1), digest)
      for (const [others, seed] of [
        [rows, 2],
        [rows.with(599, { ...rows[599]!, text: "" }), 1],
        [rows.toReversed(), 1],
        [rows.slice(1), 1],
        [[...rows, rows[0]], 1]
      ] as const)
        assert.notStrictEqual(yield* digestOf(others, seed), digest)
    })
  )

  it.effect("starts far ahead at once", () =>
    Effect.map(taken(1, 1e15, 3), (items) => assert.strictEqual(items.length, 3))
  )

  it.effect("reads its rows through the service, and refuses a source without any", () =>
    Effect.gen(function* () {
      const items = yield* Dataset.shuffled("some", Schema.Int, { seed: 1 })
      assert.deepStrictEqual(yield* items(3).pipe(Stream.take(5), Stream.runCollect), yield* taken(1, 3, 5))
      assert.include((yield* Effect.flip(Dataset.shuffled("none", Schema.Int, { seed: 1 }))).message, "has no rows")
      assert.include((yield* Effect.flip(Dataset.shuffled("other", Schema.Int, { seed: 1 }))).message, "some, none")
    }).pipe(Effect.provide(Dataset.layerMemory({ some: rows, none: [] })))
  )
})

describe("Dataset.split", () => {
  it.prop("parts the rows, the same way every time", [Schema.Array(Schema.Natural), Schema.Natural], ([rows, seed]) => {
    const numbered = rows.map((row, index) => ({ row, index }))
    const { test, train } = Dataset.split(numbered, { seed, testFraction: 0.3 })
    assert.strictEqual(test.length, Math.round(rows.length * 0.3))
    assert.deepStrictEqual(
      [...train, ...test].sort((left, right) => left.index - right.index),
      numbered
    )
    assert.deepStrictEqual(Dataset.split(numbered, { seed, testFraction: 0.3 }), { test, train })
  })
})
