import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, ServerManager, Tokenizer } from "@atropos/core"
import { Instructions } from "@atropos/envs"
import { Effect, Layer, Logger, Option, Stream } from "effect"
import { claimed, claimsHold, echo, firstScores, heldOutLabels, labels, lawsHold, scoresOf } from "./TestItems.ts"

/** A row as the published set has it: the arguments of all other checkers are null. */
const row = (content: string, groundTruth: { readonly [name: string]: unknown }) => ({
  messages: [{ role: "user", content }],
  ground_truth: JSON.stringify({ N: null, quantifier: null, end_phrase: null, keyword_list: null, ...groundTruth }),
  dataset: "ifeval",
  constraint_type: "x",
  constraint: "y"
})

const rows = [
  row("Name colours. Use at least 3 words.", { func_name: "validate_word_constraint", N: 3, quantifier: "at least" }),
  row("No commas please.", { func_name: "validate_no_commas" }),
  row("Who knows?", { func_name: "verify_mood" }),
  row("Two parts.", { func_name: "verify_paragraph_count", N: 2 })
]

const environment = (settings: Parameters<typeof Instructions.layer>[0], script: ServerManager.Script = ["?"]) =>
  Instructions.layer(settings).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([
      Tokenizer.layerBytes,
      Dataset.layerMemory({ rows, odd: [{ messages: "Say it.", ground_truth: "{}" }] })
    ])
  )

layer(environment({ groupSize: 2, seed: 3 }))("Instructions", (it) => {
  it.effect("gives the same items to whoever begins anew, none of them held out", () =>
    Effect.gen(function* () {
      const all = yield* labels(0, 40)
      assert.deepStrictEqual(all, yield* labels(0, 40))
      const held = yield* heldOutLabels
      assert.strictEqual(held.length, 200)
      assert.isFalse(all.some((label) => held.includes(label)))
    })
  )

  it.effect("holds for each of a hundred items what is claimed of it", () => claimsHold(100))

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))
})

describe("Instructions' rows", () => {
  const settings = { source: "rows", testSource: "rows", adaptive: false, seed: 1 }

  it.effect("are asked as they are and judged by their checker; those nobody can check are left out and told", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const items = yield* claimed(3).pipe(
        Effect.provide(
          environment(settings).pipe(
            Layer.provideMerge(Logger.layer([Logger.make(({ message }) => void told.push(message))]))
          )
        )
      )
      assert.deepStrictEqual(items.map(({ label }) => label).toSorted(), [
        "Name colours. Use at least 3 words. [validate_word_constraint]",
        "No commas please. [validate_no_commas]",
        "Two parts. [verify_paragraph_count]"
      ])
      assert.match(JSON.stringify(told), /"rows":1,"of":4,"first":"rows, row 3: unknown checker/)
      const words = items.find(({ label }) => label.startsWith("Name"))!
      const scores = yield* words.score(
        [
          "<think>so</think>red green blue",
          "<think>red green blue</think>red",
          "red green blue",
          "<think>a</think><think>b</think>red green blue"
        ].map((completion) => Laws.trajectoryOf(completion))
      )
      assert.deepStrictEqual(scores, [1, 0, 0, 0])
      const cut = Laws.trajectoryOf("<think>so</think>red green blue", "length")
      assert.deepStrictEqual(yield* words.score([cut]), [0])
    })
  )

  it.effect("without one that can be checked are an error with the reason", () =>
    Effect.gen(function* () {
      const built = Effect.scoped(Layer.build(environment({ ...settings, source: "odd" })))
      assert.match((yield* Effect.flip(built)).message, /^odd, row 1: unknown checker undefined/)
    })
  )

  it.effect("with a column that is not there are an error that names it and those that are", () =>
    Effect.gen(function* () {
      const built = Effect.scoped(Layer.build(environment({ ...settings, promptField: "prompt" })))
      const { message } = yield* Effect.flip(built)
      assert.include(message, 'unknown column "prompt" (prompt_field); the columns are messages, ground_truth, dataset')
    })
  )
})

describe("Instructions' scores", () => {
  const scoresOf = (settings: Parameters<typeof Instructions.layer>[0], ...completions: ReadonlyArray<string>) =>
    firstScores.pipe(
      Effect.provide(
        environment(
          { source: "rows", adaptive: false, maxAverage: 1, ...settings, groupSize: completions.length },
          completions
        )
      )
    )

  it.effect("need no think block where none is asked for, and pass one over", () =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(
        { thinking: false, seed: 2 },
        "red, green * * * blue",
        "<think>*</think>a b c * * * d",
        "?"
      )
      assert.strictEqual(scores.length, 3)
      assert.strictEqual(scores[2], 0)
      assert.isAbove(scores[0]! + scores[1]!, 0)
    })
  )

  it.effect("refuse words strung together for their number, unless they are told not to", () =>
    Effect.gen(function* () {
      const filler = `<think>so</think>${"word ".repeat(30)}* * * ${"word ".repeat(30)}`
      assert.deepStrictEqual(yield* scoresOf({}, filler), [0])
      assert.deepStrictEqual(yield* scoresOf({ refuseFiller: false, source: "rows" }, filler), [1])
    })
  )

  it.effect("may be the share of constraints that is met", () =>
    Effect.gen(function* () {
      const items = yield* claimed(60)
      const several = items.filter(({ gold, label }) => /\[.*,.*\]$/.test(label) && gold.length > 0)
      assert.isAtLeast(several.length, 10)
      for (const { gold, label, score } of several) {
        const total = label.slice(label.lastIndexOf("[")).split(",").length
        const [whole] = yield* score(gold)
        // A comma more breaks at most some of them.
        const [less] = yield* score([Laws.trajectoryOf(`${gold[0]!.completion}\n\nAnd, so: q x z j NASA, MORE.`)])
        assert.strictEqual(whole, 1)
        assert.closeTo((less! * total) % 1, 0, 1e-9)
      }
    }).pipe(Effect.provide(environment({ scoring: "share" })))
  )
})

/** Rolls out so many training items, and gives their labels. */
const rollOut = (count: number) =>
  Effect.flatMap(Environment.Environment, ({ work }) =>
    work(0).pipe(
      Stream.mapEffect(({ label, rollOut }) => Effect.as(Effect.exit(rollOut), label)),
      Stream.take(count),
      Stream.runCollect
    )
  )
const figures = Effect.flatMap(Environment.Environment, ({ metrics }) => metrics)

const isEasy = (label: string): boolean => label.startsWith("No commas")

describe("Instructions' queue", () => {
  const settings = { poolSize: 3, groupSize: 2, seed: 5 }
  it.effect("brings items back that are not solved, and remembers the solved over a restart", () =>
    Effect.gen(function* () {
      // A row that anything meets is solved at once, the others never are.
      const easy = { source: "rows", testSource: "rows", groupSize: 2, seed: 5 }
      const script = ["<think>so</think>one"]
      const first = yield* Effect.gen(function* () {
        const order = yield* rollOut(7)
        const { state } = yield* Environment.Environment
        return { order, saved: yield* Option.getOrThrow(state).save, figures: yield* figures }
      }).pipe(Effect.provide(environment(easy, script)))
      assert.strictEqual(first.order.filter(isEasy).length, 1)
      assert.strictEqual(first.order.length, 7)
      assert.deepStrictEqual(first.figures, { "queue/solved": 1, "queue/given_up": 0, "queue/left": 2 })
      const second = yield* Effect.gen(function* () {
        const { state } = yield* Environment.Environment
        yield* Option.getOrThrow(state).restore(JSON.parse(JSON.stringify(first.saved)))
        return { next: yield* labels(7, 4), figures: yield* figures }
      }).pipe(Effect.provide(environment(easy, script)))
      assert.deepStrictEqual(second.figures, first.figures)
      assert.isFalse(second.next.some(isEasy))
    })
  )

  it.effect("is a pool of so many generated items", () =>
    Effect.gen(function* () {
      const order = yield* rollOut(6)
      assert.strictEqual(new Set(order).size, 3)
      assert.deepStrictEqual(order.slice(3), order.slice(0, 3))
    }).pipe(Effect.provide(environment(settings)))
  )

  it.effect("is not there where every item has its turn", () =>
    Effect.gen(function* () {
      const { state } = yield* Environment.Environment
      assert.isTrue(Option.isNone(state))
      assert.strictEqual(new Set(yield* labels(0, 20)).size, 20)
    }).pipe(Effect.provide(environment({ adaptive: false })))
  )

  it.effect("leaves groups out that are too easy", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [first] = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
      assert.match((yield* Effect.flip(first!.rollOut)).message, /^too easy: its average is 0.8$/)
    }).pipe(
      Effect.provide(
        environment({ source: "rows", groupSize: 5, adaptive: false, seed: 2 }, [
          ...Array.from({ length: 4 }, () => "<think>so</think>a b c * * * d"),
          "?"
        ])
      )
    )
  )
})

describe("Instructions and a policy that says the prompt back", () => {
  it.effect.each([true, false])("gives it nothing where thinking is %s", (thinking) =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(400)
      assert.isTrue(scores.every((score) => score === 0))
    }).pipe(Effect.provide(environment({ thinking, groupSize: 1, adaptive: false, maxConstraints: 6 }, echo)))
  )
})
