import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema, type Scope, Stream } from "effect"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { gzipSync } from "node:zlib"
import * as JsonLines from "../../src/data/JsonLines.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"

const group = {
  tokens: [
    [1, 5],
    [1, 6]
  ],
  masks: [
    [-100, 5],
    [-100, 6]
  ],
  scores: [1, -1]
}

const written = Effect.fnUntraced(function* (name: string, content: string | Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const path = `${yield* fs.makeTempDirectoryScoped()}/${name}`
  yield* fs.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content)
  return path
})

const entriesOf = (path: string, options?: JsonLines.Options) => Stream.runCollect(SavedGroup.read(path, options))

const test = <A, E>(name: string, run: Effect.Effect<A, E, NodeServices.NodeServices | Scope.Scope>) =>
  it.effect(name, () => run.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("JsonLines", () => {
  const text = Schema.Array(Schema.String)
  it.prop("cuts the same lines wherever the pieces end", [text, Schema.Natural], ([words, size]) => {
    const lines = words.map((word) => word.replaceAll(/[\r\n]/g, " "))
    const bytes = new TextEncoder().encode(lines.join("\n"))
    const cut = JsonLines.cutter()
    const found: Array<JsonLines.Line> = []
    for (let at = 0; at < bytes.length; at += 1 + (size % 7))
      found.push(...cut.push(bytes.subarray(at, at + 1 + (size % 7))))
    found.push(...cut.end())
    assert.deepStrictEqual(
      found.map((line) => [line.number, line._tag === "Text" ? line.text : line.problem]),
      lines.flatMap((line, index) => {
        // Lone surrogates become replacement characters in UTF-8, a mark at the start of a text is none of it.
        const decoded = new TextDecoder().decode(new TextEncoder().encode(line))
        return /^[ \t]*$/.test(line) ? [] : [[index + 1, decoded]]
      })
    )
    for (const line of found) {
      const part = bytes.subarray(line.start, line.end)
      assert.strictEqual(new TextDecoder().decode(part).replace(/\n$/, ""), line._tag === "Text" ? line.text : "")
    }
  })

  test(
    "refuses a line beyond the bound by its number and keeps nothing of it",
    Effect.gen(function* () {
      const path = yield* written(
        "long.jsonl",
        `${JSON.stringify(group)}\n${"x".repeat(3_000_000)}\n${JSON.stringify(group)}\n`
      )
      const entries = yield* entriesOf(path, { maxLineBytes: 1_000_000 })
      assert.deepStrictEqual(
        entries.map(({ _tag, line }) => [_tag, line]),
        [
          ["Saved", 1],
          ["Fault", 2],
          ["Saved", 3]
        ]
      )
      assert.deepInclude(entries[1], { problem: "has 3,000,000 bytes; the limit is 1,000,000" })
    })
  )

  const formats: ReadonlyArray<readonly [name: string, content: Uint8Array, says: string]> = [
    ["groups.jsonl.gz", gzipSync("{}"), "is compressed by gzip; expected a JSON Lines file"],
    ["rows.parquet", new TextEncoder().encode("PAR1 and so on"), "is a parquet file; expected a JSON Lines file"],
    ["wide.jsonl", new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), "is text in UTF-16"]
  ]
  for (const [name, content, says] of formats) {
    test(
      `says what ${name} is and what was expected`,
      Effect.gen(function* () {
        const error = yield* Effect.flip(entriesOf(yield* written(name, content)))
        assert.include(error.message, says)
        assert.include(error.message, "a scored group (an object with scores")
      })
    )
  }

  test(
    "says that a file is absent, and that a folder is no file",
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      assert.include((yield* Effect.flip(entriesOf(`${folder}/absent.jsonl`))).message, "file not found")
      assert.include((yield* Effect.flip(entriesOf(folder))).message, "is a folder; expected a JSON Lines file")
    })
  )
})

describe("SavedGroup", () => {
  const good = JSON.stringify(group)
  const faults: ReadonlyArray<readonly [name: string, line: string, says: string]> = [
    ["text", "hello", "is not JSON (Expecting value at character 1)"],
    [
      "a key twice, of which another program would read the other value",
      `${JSON.stringify(group).slice(0, -1)},"scores":[-1,1]}`,
      'repeats the key "scores" in an object'
    ],
    [
      "a key twice inside of a message",
      '{"scores":[1],"messages":[[{"role":"user","content":"a","content":"b"}]]}',
      'repeats the key "content" in an object'
    ],
    ["an array", "[1]", "is an array; expected a scored group"],
    [
      "a row of a data set",
      '{"prefix":"a","completion":"b","score":1}',
      "it has prefix, completion, score; expected a scored group"
    ],
    ["a misspelled key", '{"tokens":[],"masks":[],"scors":[]}', "it has tokens, masks, scors; expected a scored group"],
    [
      "a token that is none",
      '{"tokens":[["a"]],"masks":[[1]],"scores":[1]}',
      "tokens.0.0: Input should be a valid integer"
    ],
    [
      "lists of different lengths",
      '{"tokens":[[1]],"masks":[[1]],"scores":[1,2]}',
      "scores: Should have one entry per sequence"
    ],
    [
      "a score that is no number",
      '{"tokens":[[1]],"masks":[[1]],"scores":[NaN]}',
      "scores.0: expected a finite number, got NaN"
    ]
  ]
  for (const [name, line, says] of faults) {
    test(
      `tells the line of ${name}, and reads on`,
      Effect.gen(function* () {
        const entries = yield* entriesOf(yield* written("a.jsonl", `${good}\n\n${line}\n${good}\n`))
        assert.deepStrictEqual(
          entries.map(({ _tag, line: number }) => [_tag, number]),
          [
            ["Saved", 1],
            ["Fault", 3],
            ["Saved", 4]
          ]
        )
        const [, fault] = entries
        assert.include(fault?._tag === "Fault" ? fault.problem : "", says)
      })
    )
  }

  test(
    "tells a file that ends in the middle of a line",
    Effect.gen(function* () {
      const entries = yield* entriesOf(yield* written("cut.jsonl", `${good}\n${good.slice(0, 30)}`))
      assert.strictEqual(entries.length, 2)
      const [, fault] = entries
      assert.match(fault?._tag === "Fault" ? fault.problem : "", /^is truncated at the end of the file/)
    })
  )

  test(
    "takes groups without tokens, chats of one string, and private keys",
    Effect.gen(function* () {
      const line = {
        scores: [1, 0],
        messages: ["said", [{ role: "user", content: "hi" }]],
        seed: 7,
        policy_versions: [3, null]
      }
      const [entry] = yield* entriesOf(yield* written("a.jsonl", JSON.stringify(line)))
      assert.strictEqual(entry?._tag, "Saved")
      if (entry?._tag !== "Saved") return
      assert.deepStrictEqual(entry.unknown, ["seed"])
      assert.deepStrictEqual(entry.group.tokens, [new Int32Array(), new Int32Array()])
      assert.deepStrictEqual(entry.group.messages, [
        [{ role: "assistant", content: "said" }],
        [{ role: "user", content: "hi" }]
      ])
      assert.deepStrictEqual(entry.group.policyVersions, [3, null])
    })
  )

  test(
    "goes on from where a line ended",
    Effect.gen(function* () {
      const path = yield* written("a.jsonl", `${good}\nbad\n${good}\n`)
      const [first] = yield* entriesOf(path)
      const rest = yield* entriesOf(path, { from: { offset: first!.end, lines: first!.line } })
      assert.deepStrictEqual(
        rest.map(({ _tag, line }) => [_tag, line]),
        [
          ["Fault", 2],
          ["Saved", 3]
        ]
      )
    })
  )
})
