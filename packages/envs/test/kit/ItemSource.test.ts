import { assert, describe, it } from "@effect/vitest"
import { Columns, Dataset, SeededRandom } from "@atropos/core"
import { ItemSource } from "@atropos/envs"
import { Effect, Layer, Logger, Result, Schema, Stream } from "effect"

const rows = Array.from({ length: 20 }, (_, index) => ({ question: `q${index}`, meta: { final: index } }))
const columns = {
  question: { setting: "prompt_field", column: "question", kind: Columns.text },
  answer: { setting: "answer_field", column: "meta.final", kind: Columns.text }
}
const tables = Dataset.layerMemory({
  rows,
  test: rows.slice(0, 3),
  empty: [],
  holes: [rows[0], { question: "  ", meta: { final: 1 } }, { question: "q2", meta: {} }, rows[3]]
})

const collect = <A, E>(stream: Stream.Stream<A, E>, count: number) => Stream.runCollect(Stream.take(stream, count))

const names = (items: ReadonlyArray<{ readonly question: string }>) => items.map(({ question }) => question)
const sorted = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)
const source = (seed: number) =>
  ItemSource.drawn({ seed, draw: (random) => random.between(0, 999), key: String, evaluationItems: 30 })

const odd = ({ answer }: { readonly answer: string }) =>
  Number(answer) % 2 === 1 ? Result.succeed(Number(answer)) : Result.fail(`${answer} is even`)

describe("Columns.rows", () => {
  it.effect("reads columns and paths into columns", () =>
    Effect.gen(function* () {
      const [first] = yield* Columns.rows("rows", columns)
      assert.deepStrictEqual(first, { question: "q0", answer: "0" })
    }).pipe(Effect.provide(tables))
  )

  it.effect("names the setting, the column and the columns there are where a column is missing", () =>
    Effect.gen(function* () {
      const { field, message } = yield* Effect.flip(
        Columns.rows("rows", { prompt: { setting: "prompt_field", column: "prompt", kind: Columns.text } })
      )
      assert.strictEqual(field, "prompt")
      assert.strictEqual(message, 'rows, row 1: unknown column "prompt" (prompt_field); the columns are question, meta')
    }).pipe(Effect.provide(tables))
  )

  it.effect("says what a value should have been and is", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        Columns.rows("rows", { options: { setting: "options_field", column: "meta", kind: Columns.texts } })
      )
      assert.include(message, 'the column "meta" (options_field) must be a list of texts, got {"final":0}')
    }).pipe(Effect.provide(tables))
  )

  it.effect("leaves out later rows that do not fit, and tells their number and the first", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const kept = yield* Columns.rows("holes", columns).pipe(
        Effect.provide(Layer.merge(tables, Logger.layer([Logger.make(({ message }) => void told.push(message))])))
      )
      assert.deepStrictEqual(
        kept.map(({ question }) => question),
        ["q0", "q3"]
      )
      assert.match(JSON.stringify(told), /"rows":2,"of":4,"first":"holes, row 2: the column \\"question\\"/)
    })
  )

  it.effect("leaves out rows of which no item can be made, and fails with the reason where none can", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* Columns.rowsAs("rows", columns, odd)).slice(0, 3), [1, 3, 5])
      const none = Columns.rowsAs("rows", columns, () => Result.fail("not today"))
      assert.strictEqual((yield* Effect.flip(none)).message, "rows, row 1: not today")
    }).pipe(Effect.provide(tables))
  )

  it.effect("a source without rows is an error", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(Columns.rows("empty", columns))).message, "empty has no rows")
    }).pipe(Effect.provide(tables))
  )

  it("reads a chat from a text or a list of messages", () => {
    assert.deepStrictEqual(Columns.chat.read("Hi"), [{ role: "user", content: "Hi" }])
    assert.deepStrictEqual(Columns.chat.read([{ role: "system", content: "Hi" }]), [{ role: "system", content: "Hi" }])
    assert.isUndefined(Columns.chat.read([{ content: "Hi" }]))
    assert.isUndefined(Columns.chat.read([]))
    assert.isUndefined(Columns.chat.read(" "))
  })

  it("reads what need not be there as null, and refuses what is there and of another kind", () => {
    const { expected, read } = Columns.optional(Columns.text)
    assert.deepStrictEqual([read(undefined), read(null), read("a")], [null, null, "a"])
    assert.isUndefined(read([]))
    assert.strictEqual(expected, "a text, or nothing")
  })

  it("reads lists that are written as JSON, and refuses blanks", () => {
    assert.deepStrictEqual(Columns.texts.read('["a", 2]'), ["a", "2"])
    assert.isUndefined(Columns.texts.read('["a", " "]'))
    assert.isUndefined(Columns.texts.read("a, b"))
    assert.isUndefined(Columns.text.read(""))
    assert.strictEqual(Columns.text.read(12n), "12")
  })
})

describe("ItemSource.shuffledRows", () => {
  const options = { source: "rows", testSource: null, seed: 5, columns }

  it.effect("holds a tenth of the rows out and never trains on them", () =>
    Effect.gen(function* () {
      const { heldOut, items } = yield* ItemSource.shuffledRows(options)
      const held = names(yield* Stream.runCollect(heldOut))
      const trained = names(yield* collect(items(0), 40))
      assert.strictEqual(held.length, 2)
      assert.strictEqual(new Set(trained).size, 18)
      assert.isFalse(trained.some((name) => held.includes(name)))
    }).pipe(Effect.provide(tables))
  )

  it.effect("goes on from a cursor, and reads a test source where one is named", () =>
    Effect.gen(function* () {
      const { heldOut, items } = yield* ItemSource.shuffledRows({ ...options, testSource: "test" })
      assert.deepStrictEqual(names(yield* collect(items(25), 5)), names(yield* collect(items(0), 30)).slice(25))
      assert.deepStrictEqual(names(yield* Stream.runCollect(heldOut)), ["q0", "q1", "q2"])
    }).pipe(Effect.provide(tables))
  )
})

describe("ItemSource.drawn", () => {
  it.effect.prop("the same seed gives the same items from any cursor on", [Schema.Natural], ([seed]) =>
    Effect.gen(function* () {
      const all = yield* collect(source(seed).items(0), 20)
      assert.deepStrictEqual(yield* collect(source(seed).items(12), 8), all.slice(12))
    })
  )

  it.effect.prop("no item is trained on that evaluations hold out", [Schema.Natural], ([seed]) =>
    Effect.gen(function* () {
      const { heldOut, items } = source(seed)
      const held = yield* Stream.runCollect(heldOut)
      assert.strictEqual(held.length, 30)
      assert.isTrue(held.every((item) => ItemSource.isHeldOut(String(item))))
      assert.isFalse((yield* collect(items(0), 50)).some((item) => ItemSource.isHeldOut(String(item))))
    })
  )

  it.effect("ends where there is only one item to draw", () =>
    Effect.gen(function* () {
      const { heldOut, items } = ItemSource.drawn({ seed: 1, draw: () => "x", key: String, evaluationItems: 1 })
      assert.deepStrictEqual([...(yield* collect(items(0), 1)), ...(yield* Stream.runCollect(heldOut))], ["x", "x"])
    })
  )
})

describe("SeededRandom", () => {
  it.prop(
    "a shuffle keeps the elements, a sample takes some of them",
    [Schema.Array(Schema.Natural), Schema.Natural],
    ([list, seed]) => {
      const random = SeededRandom.seeded(seed, list.length)
      assert.deepStrictEqual(sorted(random.shuffle(list)), sorted(list))
      const distinct = Array.from(new Set(list))
      const sample = random.sample(distinct, 3)
      assert.strictEqual(new Set(sample).size, Math.min(3, distinct.length))
      assert.isTrue(sample.every((one) => distinct.includes(one)))
    }
  )

  it("every place is equally likely in a shuffle", () => {
    const counts = Array.from({ length: 4 }, () => 0)
    for (let index = 0; index < 4_000; index++)
      counts[SeededRandom.seeded(1, index).shuffle([0, 1, 2, 3]).indexOf(2)]!++
    for (const count of counts) assert.closeTo(count, 1_000, 120)
  })
})
