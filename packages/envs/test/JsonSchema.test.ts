import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { JsonSchema } from "@atropos/envs"
import { Effect, Layer, Schema, Stream } from "effect"
import * as Bank from "../src/json-schema/Bank.ts"
import { claimsHold, echo, firstScores, itemsHold, labels, lawsHold, scoresOf } from "./TestItems.ts"

const numbers = { type: "array", items: { type: "number" }, minItems: 2 }
const tables = {
  rows: [{ json_schema: JSON.stringify(numbers), ask: "Two numbers, please." }],
  objects: [{ json_schema: numbers }],
  broken: [{ json_schema: '{"type": "strin"}' }],
  odd: [{ json_schema: "not JSON" }]
}

const environment = (settings: Parameters<typeof JsonSchema.layer>[0], script: ServerManager.Script = ["?"]) =>
  JsonSchema.layer({ ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables)])
  )

const live = { excludeTestServices: true }

layer(environment({ groupSize: 2, seed: 3 }), live)("JsonSchema", (it) => {
  it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)

  it.effect("holds for each of thirty items what is claimed of it", () => claimsHold(30))

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 30 }
  })
})

describe("JsonSchema's bank", () => {
  it.prop("tells some fields, leaves others free, and allows no others", [Schema.Natural], ([index]) => {
    const { request, sample, schema, told } = Bank.draw(SeededRandom.seeded(1, index))
    const { additionalProperties, properties, required } = JSON.parse(schema) as {
      readonly additionalProperties: boolean
      readonly properties: object
      readonly required: ReadonlyArray<string>
    }
    assert.isFalse(additionalProperties)
    assert.sameMembers([...required], Object.keys(properties))
    assert.sameMembers(Object.keys(JSON.parse(sample) as object), [...required])
    const toldNames = Object.keys(told)
    assert.isTrue(toldNames.length >= 1 && toldNames.length < required.length)
    for (const name of toldNames)
      assert.match(request.toLowerCase(), new RegExp(name === "since" ? "since when" : name))
  })
})

describe("JsonSchema's rows", () => {
  const row = { source: "rows", testSource: "rows", requestField: "ask", groupSize: 8 }

  it.live("are asked as they are, and valid answers score 1", () =>
    Effect.gen(function* () {
      const [label] = yield* labels(0, 1)
      assert.match(label!, /^Two numbers, please\.\n\nThe JSON schema:\n\n\{"type":"array"/)
      assert.deepStrictEqual(yield* firstScores, [1, 1, 1, 1, 0, 0, 0, 0])
    }).pipe(
      Effect.provide(
        environment(row, [
          "<think>so</think>[1, 2.5]",
          "<think>so</think>\n```json\n[\n1, 2, 3]\n```",
          "<think>so</think>\n~~~json\n[1, 2, 3]\n~~~",
          "<think>so</think>\n````\n[1, 2, 3]\n````",
          "<think>so</think>[1]",
          "<think>so</think>Here it is: [1, 2]",
          "[1, 2]",
          "<think>[1, 2]</think>"
        ])
      )
    )
  )

  it.live("need no think block where none is asked for", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 1, 0])
    }).pipe(
      Effect.provide(
        environment(
          { ...row, requestField: null, source: "objects", testSource: "objects", thinking: false, groupSize: 3 },
          ["[1, 2]", "<think>so</think>[1, 2]", "<think>so</think>[1]"]
        )
      )
    )
  )

  it.live("whose schema cannot be compiled are unscorable, with the reason", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [first] = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
      assert.match((yield* Effect.flip(first!.rollOut)).message, /^unusable schema: schema is invalid/)
    }).pipe(Effect.provide(environment({ source: "broken", testSource: "broken" }, ["<think>so</think>1"])))
  )

  it.live("without a schema are an error that says so", () =>
    Effect.gen(function* () {
      const failure = (settings: Parameters<typeof JsonSchema.layer>[0]) =>
        Effect.map(Effect.flip(Effect.scoped(Layer.build(environment(settings)))), ({ message }) => message)
      assert.strictEqual(yield* failure({ source: "odd" }), "odd, row 1: the schema is not JSON")
      assert.include(
        yield* failure({ source: "rows", schemaField: "schema" }),
        'unknown column "schema" (schema_field); the columns are json_schema, ask'
      )
    })
  )
})

describe("JsonSchema and a policy that says the prompt back", () => {
  it.live("gives it nothing", () =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(60)
      assert.isTrue(scores.every((score) => score === 0))
    }).pipe(Effect.provide(environment({ thinking: false, groupSize: 1 }, echo)))
  )
})
