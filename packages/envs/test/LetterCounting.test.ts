import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { ItemSource, LetterCounting } from "@atropos/envs"
import { Effect, Layer, Option, Schema, Stream } from "effect"
import * as Form from "../src/letters/Form.ts"
import * as Tiers from "../src/letters/Tiers.ts"
import { claimed, echo, firstScores, heldOutLabels, labels, lawsHold, scoresOf } from "./TestItems.ts"

const services = (script: ServerManager.Script) =>
  Layer.mergeAll(
    ServerManager.layerScripted(script).pipe(Layer.provide(Tokenizer.layerBytes)),
    Tokenizer.layerBytes,
    Dataset.layerMemory({ published: [{ _text: "Banana", _target_letters: ["a", "b"] }] })
  )

const environment = (settings: Parameters<typeof LetterCounting.layer>[0], script: ServerManager.Script = ["?"]) =>
  LetterCounting.layer(settings).pipe(Layer.provide(services(script)))

/** The share of a tier's questions with several letters. */
const share = (number: number): number => {
  const drawn = Array.from({ length: 1_000 }, (_, index) => Tiers.draw(number, SeededRandom.seeded(5, index)))
  return drawn.filter(({ letters }) => letters.length > 1).length / drawn.length
}

/** A policy that counts. */
const right = (request: ServerManager.ScriptedRequest) => {
  const [letters = "", text = ""] = ("prompt" in request ? request.prompt : "").slice(0, -1).split(":")
  return Array.from(letters, (letter) => text.split(letter).length - 1).join(",")
}

/** A policy that counts, but for one answer in ten. */
const nearlyRight = (request: ServerManager.ScriptedRequest) => [
  ...Array.from({ length: 9 }, () => right(request)),
  "?"
]

describe("LetterCounting's tiers", () => {
  const Tier = Schema.Literals([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])

  it.prop("texts and letters are as the tier says", [Tier, Schema.Natural], ([number, index]) => {
    const { length, letters: asked, text: kind } = Tiers.tiers[number - 1]!
    const { letters, text } = Tiers.draw(number, SeededRandom.seeded(3, index))
    assert.isTrue(text.length >= length[0] && text.length <= length[1], `${text.length}`)
    assert.strictEqual(new Set(letters).size, letters.length)
    if (letters.length > 1) assert.isTrue(letters.length >= Math.min(26, asked[0]) && letters.length <= asked[1])
    if (kind === "random") assert.isAtLeast(letters.length, 2)
  })

  it.prop("counts agree with counting one by one", [Tier, Schema.Natural], ([number, index]) => {
    const question = Tiers.draw(number, SeededRandom.seeded(4, index))
    const oneByOne = question.letters.map((letter) => Array.from(question.text).filter((one) => one === letter).length)
    assert.deepStrictEqual(Tiers.count(question), oneByOne)
  })

  it("counts ignore case and the encoding of marks in text and letters", () => {
    assert.deepStrictEqual(Tiers.count({ text: "Mississippi", letters: ["M", "m", "S", "x"] }), [1, 1, 4, 0])
    assert.deepStrictEqual(
      Tiers.count({ text: "Lo\u0308wen, H\u00d6hle", letters: ["\u00f6", "O\u0308", "o"] }),
      [2, 2, 0]
    )
  })

  it("ask for several letters as often as they say", () => {
    assert.deepStrictEqual([share(1), share(6)], [0, 1])
    for (const [number, expected] of [
      [2, 0.5],
      [3, 0.6],
      [4, 0.8],
      [5, 0.9]
    ] as const) {
      assert.closeTo(share(number), expected, 0.06)
    }
  })

  it("ask for letters that occur and for letters that do not", () => {
    const drawn = Array.from({ length: 1_000 }, (_, index) => Tiers.draw(3, SeededRandom.seeded(6, index)))
    const counts = drawn.flatMap(Tiers.count)
    assert.closeTo(counts.filter((one) => one > 0).length / counts.length, 0.6, 0.06)
  })
})

describe("LetterCounting's grader", () => {
  const one = { text: "strawberry", letters: ["r"] }
  const two = { text: "strawberry", letters: ["r", "w"] }
  const cases: ReadonlyArray<readonly [question: Tiers.Question, completion: string, isRight: boolean]> = [
    [one, "<think>s t r</think><answer>3</answer>", true],
    [one, "<think></think>So: <ANSWER> 3 </ANSWER>.", true],
    [one, "<think>so</think><answer>2</answer>", false],
    [one, "<think>so</think><answer>3.0</answer>", false],
    [one, "<think>so</think>3", false],
    [one, "<answer>3</answer>", false],
    [one, "<think><answer>3</answer></think>", false],
    [one, "<think>a</think><answer>3</answer><answer>three</answer>", false],
    [one, "<think>a</think><think>b</think><answer>3</answer>", false],
    [one, '<think>a</think><answer>{"r": 3}</answer>', false],
    [two, '<think>a</think><answer>{"r": 3, "w": 1}</answer>', true],
    [two, '<think>a</think><answer>{"w": 1, "r": 3}</answer>', true],
    [two, '<think>a</think><answer>{"r": 3}</answer>', false],
    [two, '<think>a</think><answer>{"r": 3, "w": 1, "x": 0}</answer>', false],
    [two, '<think>a</think><answer>{"r": 3, "w": true}</answer>', false],
    [two, '<think>a</think><answer>{"r": "3", "w": "1"}</answer>', false],
    [two, '<think>a</think><answer>{"r": 3, "w": 1</answer>', false],
    [two, "<think>a</think><answer>3,1</answer>", false]
  ]
  for (const [question, completion, isRight] of cases) {
    it(`${isRight ? "accepts" : "refuses"} ${completion} for ${Form.compactPrompt(question)}`, () => {
      assert.strictEqual(Form.judge(question, completion, true).correct, Number(isRight))
    })
  }

  it("tells the form from the counts", () => {
    const said = '<think>a</think><answer>{"r": 3, "w": 2}</answer>'
    assert.deepStrictEqual(Form.judge(two, said, true), { format: 1, counts: 0.5, correct: 0 })
    assert.deepStrictEqual(Form.judge(two, "<think>a</think>3 and 1", true), { format: 0, counts: 0, correct: 0 })
  })

  it("without thinking, passes over a think block where there is one", () => {
    assert.strictEqual(Form.judge(one, "<answer>3</answer>", false).correct, 1)
    const two = { letters: ["a", "n"], text: "Banana" }
    assert.strictEqual(Form.judge(two, '<answer>{"a": 3, "n": 2}</answer>', false).correct, 1)
    assert.strictEqual(Form.judge(two, '<answer>{"a": 1, "a": 3, "n": 2}</answer>', false).correct, 0)
    assert.strictEqual(Form.judge(one, "<think><answer>1</answer></think><answer>3</answer>", false).correct, 1)
    assert.strictEqual(Form.judge(one, "<answer>1</answer><answer>3</answer>", false).correct, 0)
  })
})

layer(environment({ groupSize: 2, seed: 9 }))("LetterCounting", (it) => {
  it.effect("gives the same items from any cursor on, those of the first tier first", () =>
    Effect.gen(function* () {
      const all = yield* labels(0, 30)
      assert.deepStrictEqual(all.slice(20), yield* labels(20, 10))
      assert.isFalse(all.some(ItemSource.isHeldOut))
    })
  )

  it.effect("evaluates on held-out items of every tier", () =>
    Effect.gen(function* () {
      const held = yield* heldOutLabels
      assert.strictEqual(held.length, 200)
      assert.isTrue(held.every(ItemSource.isHeldOut))
      assert.isAtLeast(Math.max(...held.map((label) => label.length)), 400)
    })
  )

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))
})

describe("LetterCounting's compact form", () => {
  it.effect("is answered by the counts and the end", () =>
    Effect.gen(function* () {
      for (const { gold, label, score } of yield* claimed(20)) {
        const [letters = "", text = ""] = label.slice(0, -1).split(":")
        const answer = Array.from(letters, (letter) => text.split(letter).length - 1).join(",")
        assert.deepStrictEqual(
          gold.map(({ completion }) => completion),
          [answer]
        )
        assert.deepStrictEqual(yield* score([gold[0]!, { ...gold[0]!, finishReason: "length" }]), [1, 0])
      }
    }).pipe(Effect.provide(environment({ promptStyle: "compact", startTier: 2 })))
  )

  it.prop(
    "a demonstration has the form, in known characters",
    [Schema.Struct({ seed: Schema.Natural, index: Schema.Natural, tier: Schema.Literals([1, 2, 3, 4]) })],
    ([place]) => {
      const { completion, prompt } = LetterCounting.demonstration({ ...place, accuracy: 0.5 })
      assert.match(prompt, /^[a-z]+:[a-z]+=$/)
      assert.match(completion, /^\d(?:,\d)*$/)
      assert.strictEqual(completion.split(",").length, prompt.indexOf(":"))
      assert.isTrue(Array.from(prompt + completion).every((one) => LetterCounting.characters.includes(one)))
      const [asked, text] = prompt.slice(0, -1).split(":")
      const counts = Array.from(asked!, (letter) => text!.split(letter).length - 1)
      assert.strictEqual(LetterCounting.demonstration({ ...place, accuracy: 1 }).completion, counts.join(","))
    }
  )
})

describe("LetterCounting's curriculum", () => {
  const settings = { groupSize: 4, startTier: 1, window: 20, promptStyle: "compact" as const }
  const levelOf = Effect.flatMap(Environment.Environment, ({ metrics }) =>
    Effect.map(metrics, (figures) => figures["curriculum/level"])
  )

  it.effect("rises where nearly all is right, and leaves those groups out", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const outcomes = yield* work(0).pipe(
        Stream.mapEffect(({ rollOut }) => Effect.flip(rollOut)),
        Stream.take(25),
        Stream.runCollect
      )
      assert.match(outcomes[0]!.message, /^too easy for tier 1: average 0.9$/)
      // Ten groups of a tier decide: half the window.
      assert.match(outcomes[10]!.message, /^too easy for tier 2/)
      assert.strictEqual(yield* levelOf, 3)
    }).pipe(Effect.provide(environment({ ...settings, groupSize: 10 }, nearlyRight)))
  )

  it.effect("falls where nearly all is wrong, and leaves those groups out", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const outcomes = yield* work(0).pipe(
        Stream.mapEffect(({ rollOut }) => Effect.flip(rollOut)),
        Stream.take(10),
        Stream.runCollect
      )
      assert.match(outcomes[0]!.message, /^too hard for tier 2: average 0.1$/)
      assert.strictEqual(yield* levelOf, 1)
    }).pipe(
      Effect.provide(
        environment({ ...settings, startTier: 2, groupSize: 10 }, (request) => [
          right(request),
          ...Array.from({ length: 9 }, () => "?")
        ])
      )
    )
  )

  it.effect("survives a restart", () =>
    Effect.gen(function* () {
      const learnt = yield* Effect.gen(function* () {
        const { state, work } = yield* Environment.Environment
        yield* work(0).pipe(
          Stream.mapEffect(({ rollOut }) => Effect.exit(rollOut)),
          Stream.take(15),
          Stream.runDrain
        )
        return { saved: yield* Option.getOrThrow(state).save, next: yield* labels(15, 5) }
      }).pipe(Effect.provide(environment(settings, right)))
      const resumed = yield* Effect.gen(function* () {
        const { state } = yield* Environment.Environment
        yield* Option.getOrThrow(state).restore(JSON.parse(JSON.stringify(learnt.saved)))
        return { level: yield* levelOf, next: yield* labels(15, 5) }
      }).pipe(Effect.provide(environment(settings, right)))
      assert.deepStrictEqual(resumed, { level: 2, next: learnt.next })
    })
  )

  it.effect("keeps easy and hard groups where it is told to, and leaves those without a difference to others", () =>
    Effect.gen(function* () {
      const kept = firstScores.pipe(
        Effect.provide(environment({ ...settings, groupSize: 10, skipEasyAndHard: false }, nearlyRight))
      )
      assert.deepStrictEqual(yield* kept, [...Array.from({ length: 9 }, () => 1), 0])
      assert.deepStrictEqual(yield* firstScores.pipe(Effect.provide(environment(settings, right))), [1, 1, 1, 1])
    })
  )
})

describe("LetterCounting's published evaluation", () => {
  it.effect("counts in the rows it is given", () =>
    Effect.gen(function* () {
      const { evaluation } = yield* Environment.Environment
      const [first] = yield* Stream.runCollect(Option.getOrThrow(evaluation))
      assert.strictEqual(first!.label, "ab:Banana=")
      assert.deepStrictEqual(
        (yield* first!.evaluate).map(({ score }) => score),
        [1]
      )
    }).pipe(
      Effect.provide(
        environment({ testSource: "published" }, ['<think>b a n</think><answer>{"a": 3, "b": 1}</answer>'])
      )
    )
  )
})

describe("LetterCounting and a policy that says the prompt back", () => {
  it.effect("gives it nothing", () =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(300)
      assert.isTrue(scores.every((score) => score === 0))
    }).pipe(Effect.provide(environment({ groupSize: 1, startTier: 3, maxTier: 3, window: 1_000_000 }, echo)))
  )
})
