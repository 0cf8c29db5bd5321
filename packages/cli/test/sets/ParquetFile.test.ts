import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Effect, FileSystem, Schema, type Scope } from "effect"
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet"
import * as Columns from "../../src/sets/Columns.ts"
import * as ParquetFile from "../../src/sets/ParquetFile.ts"
import * as Bin from "../Bin.ts"

type Row = { readonly [column: string]: unknown }

const written = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, columns: ReadonlyArray<string> = []) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* Bin.folder
  const from = `${folder}/rows.jsonl`
  const to = `${folder}/rows.parquet`
  yield* fs.writeFileString(from, rows.map((row) => `${ExactJson.write(row)}\n`).join(""))
  yield* ParquetFile.write({ from, to, columns })
  return yield* Effect.promise(async () => parquetReadObjects({ file: await asyncBufferFromFile(to) }))
})

/** Without what is null or empty-handed: parquet has a place for every key of a list's structs. */
const strip = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(strip)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, entry]) =>
      entry === null || entry === undefined ? [] : [[key, strip(entry)]]
    )
  )
}

const run = <A, E>(effect: Effect.Effect<A, E, NodeServices.NodeServices | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const calling = (...all: ReadonlyArray<unknown>) =>
  all.map((one) => ({ messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: one } }] }] }))

describe("parquet files of rows", () => {
  it.effect("have nested columns for messages, with a place for keys that only some have", () =>
    run(
      Effect.gen(function* () {
        const rows = [
          { messages: [{ role: "user", content: "hi" }], score: 1 },
          {
            messages: [{ role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "f" } }] }],
            score: 0.5
          },
          { messages: [], score: -1 }
        ]
        assert.deepStrictEqual((yield* written(rows)).map(strip), rows.map(strip))
      })
    )
  )

  it.effect("hold integers beyond 2^53 as they are", () =>
    run(
      Effect.gen(function* () {
        const long = "123456789012345678901"
        const rows = [
          {
            id: 9007199254740993n,
            plain: 3,
            mixed: 9007199254740993n,
            beyond: new ExactJson.Numeral(long),
            score: 1.5
          },
          { id: 7, plain: 4, mixed: 0.5, beyond: 1, score: new ExactJson.Numeral("2.0") }
        ]
        assert.deepStrictEqual(yield* written(rows), [
          { id: 9007199254740993n, plain: 3, mixed: "9007199254740993", beyond: long, score: 1.5 },
          { id: 7n, plain: 4, mixed: "0.5", beyond: "1", score: 2 }
        ])
      })
    )
  )

  it.effect("write words among content parts as a part, and values of several kinds as JSON", () =>
    run(
      Effect.gen(function* () {
        const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
        const read = yield* written([
          { content: "hi", extra: 1 },
          { content: [picture, { type: "text", text: "what?" }], extra: "one" },
          { content: null, extra: [2] }
        ])
        assert.deepStrictEqual(read.map(strip), [
          { content: [{ type: "text", text: "hi" }], extra: "1" },
          { content: [picture, { type: "text", text: "what?" }], extra: '"one"' },
          { extra: "[2]" }
        ])
      })
    )
  )

  it.effect("have a column for every argument of calls, and none for a call without", () =>
    run(
      Effect.gen(function* () {
        const rows = calling({ city: "Rome" }, {}, { days: 2n, km: 1.5 })
        assert.deepStrictEqual((yield* written(rows)).map(strip), rows.map(strip))
      })
    )
  )

  it.effect("are refused where the arguments of calls have no one type: JSON text is no argument", () =>
    run(
      Effect.gen(function* () {
        for (const [first, second] of [
          [{ id: 1 }, { id: "one" }],
          [{ id: 1 }, { id: 1.5 }],
          [{ id: { of: [1] } }, { id: { of: ["a"] } }],
          [{}, {}]
        ]) {
          const { message } = yield* Effect.flip(written(calling(first, second)))
          assert.match(message, /messages\.tool_calls\.function\.arguments.* write JSON Lines/)
        }
      })
    )
  )

  it.effect("have their columns without rows, and more rows than one portion", () =>
    run(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* written([], ["prompt", "score"]), [])
        const rows = Array.from({ length: 2500 }, (_, index) => ({ text: `row ${index}`, score: index / 2 }))
        assert.deepStrictEqual(yield* written(rows), rows)
      })
    )
  )

  it.effect("hold text with any line separator that JSON does not escape", () =>
    run(
      Effect.gen(function* () {
        const rows = ["one\u2028two\u2029three\u0085four", "\r\n"].map((text) => ({ text, score: 0.5 }))
        assert.deepStrictEqual(yield* written(rows), rows)
      })
    )
  )

  const Value = Schema.Union([Schema.String, Schema.Boolean, Schema.Null])
  const Message = Schema.Struct({
    role: Schema.String,
    content: Schema.NullOr(Schema.String),
    name: Schema.optionalKey(Schema.String),
    more: Schema.optionalKey(Schema.Array(Schema.Struct({ x: Value })))
  })
  it.prop("find one type that all values of a column fit", [Schema.Array(Schema.Array(Message))], ([chats]) => {
    const type = chats.map(Columns.typeOf).reduce(Columns.common, Columns.any)
    const kinds = new Set(chats.flat().flatMap(({ more = [] }) => more.map(({ x }) => typeof x)))
    for (const chat of chats) {
      const conformed = Columns.conform(chat, type)
      // Where a place has values of several kinds they become JSON; else nothing changes.
      if (!(kinds.has("string") && kinds.has("boolean"))) assert.deepStrictEqual(strip(conformed), strip(chat))
    }
    const elements = Columns.elements("messages", type)
    const children = elements.reduce((sum, { num_children: count = 0 }) => sum + count, 0)
    assert.strictEqual(children, elements.length - 1)
  })
})
