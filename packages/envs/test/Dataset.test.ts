import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset as Rows, Environment, Laws, ServerManager, Tokenizer } from "@atropos/core"
import { Dataset, MathVerifier } from "@atropos/envs"
import { Effect, Layer, Option, Stream } from "effect"
import * as Template from "../src/dataset/Template.ts"
import { claimed, firstScores, labels, lawsHold } from "./TestItems.ts"
import * as Marker from "../src/dataset/Marker.ts"

const gsm8k = [
  { question: "Nine pens and nine pens?", answer: "9 + 9 = <<9+9=18>>18\n#### 18" },
  { question: "A thousand and eighteen?", answer: "1000 + 18 = 1018\n#### 1,018" }
]

const environment = (settings: Parameters<typeof Dataset.layer>[0], script: ServerManager.Script = ["?"]) =>
  Dataset.layer({
    source: "gsm8k",
    testSource: "gsm8k",
    groupSize: Array.isArray(script) ? script.length : 2,
    ...settings
  }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([
      Tokenizer.layerBytes,
      MathVerifier.layer(),
      Rows.layerMemory({
        gsm8k,
        one: gsm8k.slice(0, 1),
        chats: [
          {
            chat: [
              { role: "system", content: "Be brief." },
              { role: "user", content: "Hi?" }
            ],
            reply: "Hello"
          }
        ],
        objects: [
          { question: "Which two?", answer: '{"first": 1, "second": 2}' },
          { question: "Nine pens and nine pens?", answer: '{"steps": "9 + 9", "answer": 18}' }
        ],
        choices: [{ q: "Which?", meta: { options: ["a", "b"] }, key: 1 }]
      })
    ])
  )

const failure = (settings: Parameters<typeof Dataset.layer>[0]) =>
  Effect.map(Effect.flip(Effect.scoped(Layer.build(environment(settings)))), ({ message }) => message)

const chatOf = Effect.flatMap(Environment.Environment, ({ groups }) =>
  groups.pipe(
    Stream.take(1),
    Stream.runCollect,
    Effect.map(([group]) => group!.messages![0]!.slice(0, -1))
  )
)

layer(environment({}), { excludeTestServices: true })("Dataset", (it) => {
  it.effect("is GSM8K with the accuracy of the boxed answer where nothing is configured", () =>
    Effect.gen(function* () {
      assert.sameMembers(yield* labels(0, 2), ["Nine pens and nine pens?", "A thousand and eighteen?"])
      for (const { gold, score, wrong } of yield* claimed(2)) {
        assert.deepStrictEqual(yield* score(gold), [1])
        assert.deepStrictEqual(
          yield* score(wrong),
          wrong.map(() => 0)
        )
      }
    })
  )

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))

  it.effect("gives the same items from any cursor on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* labels(0, 6)).slice(2), yield* labels(2, 4))
    })
  )
})

describe("Dataset's rewards", () => {
  const answers = ["<think>so</think>\\boxed{18}", "\\boxed{18}", "<think>so</think>\\boxed{17}", "?"]
  const scoresWith = (settings: Parameters<typeof Dataset.layer>[0]) =>
    firstScores.pipe(Effect.provide(environment({ source: "one", ...settings }, answers)))
  const weighted = [
    { type: "accuracy", weight: 3 },
    { type: "format", weight: 1, params: { preferred_tags: ["think"] } }
  ] as const

  it.effect("are weighed, and divided by the sum of weights", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* scoresWith({ rewardFunctions: weighted }), [1, 0.75, 0.25, 0])
    })
  )

  it.effect("are summed as they are, or stretched over the group", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* scoresWith({ rewardFunctions: weighted, normalization: "none" }), [4, 3, 1, 0])
      const stretched = yield* scoresWith({ rewardFunctions: [weighted[1]], normalization: "minmax" })
      assert.deepStrictEqual(stretched, [1, 0, 1, 0])
    })
  )

  it.effect("are held against what follows the mark in the answer column", () =>
    Effect.gen(function* () {
      // Contains the solution: the whole worked one, or what follows the mark.
      assert.deepStrictEqual(yield* scoresWith({ rewardFunctions: ["accuracyx"] }), [0, 0, 0, 0])
      assert.deepStrictEqual(yield* scoresWith({ rewardFunctions: ["accuracyx"], answerAfter: "####" }), [1, 1, 0, 0])
    })
  )

  it.effect("read the answer of a JSON object by its key, and skip rows without one", () =>
    Effect.gen(function* () {
      const settings = { source: "objects", testSource: "one" }
      assert.deepStrictEqual(yield* scoresWith({ ...settings, rewardFunctions: ["accuracy"] }), [1, 1, 0, 0])
      const label = yield* labels(0, 3).pipe(
        Effect.provide(environment({ ...settings, rewardFunctions: ["accuracy"] }))
      )
      assert.deepStrictEqual(new Set(label), new Set(["Nine pens and nine pens?"]))
    })
  )

  it.effect("that nobody knows are refused with those there are, as are wrong parameters", () =>
    Effect.gen(function* () {
      assert.match(yield* failure({ rewardFunctions: ["accurcy"] }), /unknown reward "accurcy"; known: accuracy,/)
      assert.match(
        yield* failure({ rewardFunctions: [{ type: "format", params: { tags: ["a"] } }] }),
        /parameters of the reward format: .*tags/
      )
    })
  )

  it.effect("that need an answer are refused where no column has one", () =>
    Effect.gen(function* () {
      assert.match(yield* failure({ answerField: null }), /accuracy.*answer_field/)
      assert.deepStrictEqual(yield* scoresWith({ answerField: null, rewardFunctions: ["format"] }), [1, 0, 1, 0])
    })
  )

  it.effect("make no claims but for accuracy alone", () =>
    Effect.gen(function* () {
      const { claims } = yield* Environment.Environment
      assert.match(Option.getOrThrow(claims).untestable ?? "", /depends on the configured rewards/)
    }).pipe(Effect.provide(environment({ rewardFunctions: ["format"] })))
  )
})

describe("Marker.answerAfter", () => {
  it("takes the rest of the line after hashes, and of the text after other markers", () => {
    assert.strictEqual(Marker.answerAfter("She has 18.\n#### 18\nThe answer is: 18", "####"), "18")
    assert.strictEqual(Marker.answerAfter("#### 1\n####\n18\n", "#### "), "1")
    assert.strictEqual(Marker.answerAfter("####\n18\nSo.", "####"), "18")
    assert.strictEqual(Marker.answerAfter("Poem:\nred\nblue\n", "Poem:"), "red\nblue")
    assert.isUndefined(Marker.answerAfter("18", "####"))
  })
})

describe("Dataset's columns", () => {
  it.effect("are named with those there are where one is missing", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failure({ promptField: "prompt" }),
        'gsm8k, row 1: unknown column "prompt" (prompt_field); the columns are question, answer'
      )
      assert.strictEqual(
        yield* failure({ answerField: "solution" }),
        'gsm8k, row 1: unknown column "solution" (answer_field); the columns are question, answer'
      )
      assert.include(yield* failure({ promptTemplate: "{question} {hint}" }), 'unknown column "hint" (prompt_template)')
      assert.include(yield* failure({ answerAfter: "@@" }), 'gsm8k, row 1: the answer has no "@@" (answer_after)')
    })
  )

  it.effect("may hold whole chats, whose own system prompt stays", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chatOf, [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi?" }
      ])
    }).pipe(Effect.provide(environment({ source: "chats", promptField: "chat", answerField: "reply" })))
  )

  it.effect("fill a template, lists and paths included", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chatOf, [{ role: "user", content: '{Which?} a or b: ["a","b"], not b' }])
    }).pipe(
      Effect.provide(
        environment({
          source: "choices",
          answerField: "key",
          systemPrompt: null,
          promptTemplate: "{{{q}}} a or b: {meta.options}, not {meta.options.1}"
        })
      )
    )
  )
})

describe("Template", () => {
  it("names each column once", () => {
    assert.deepStrictEqual(Template.columnsOf("{a} {b.c} {a} {{d}} {}"), ["a", "b.c"])
  })

  it("leaves a text without columns alone, but for doubled braces", () => {
    assert.strictEqual(
      Template.fill("\\boxed{{x}} {} $& }", () => "?"),
      "\\boxed{x} {} $& }"
    )
  })
})
