/** The recipes of `atropos up`: what is shown before reinforcement learning. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as Preset from "@atropos/trainer/loss/Preset"
import { Effect, Result } from "effect"
import * as TrainerRun from "../../src/config/TrainerRun.ts"
import * as Recipe from "../../src/up/Recipe.ts"

const demonstrated = 2_000

/** What a recipe shows, as its environment is set unless told otherwise. */
const demonstrations = Effect.fnUntraced(function* (name: string) {
  const definition = Recipe.definitions[name]!
  const recipe = yield* definition.make({ input: { ...definition.env, seed: 3 } })
  const shown = Array.from({ length: demonstrated }, (_, index) => {
    const { completion, prompt } = recipe.demonstration(index)
    assert(typeof prompt === "string")
    return { completion, prompt }
  })
  return { recipe, shown }
}, Effect.provide(NodeServices.layer))

type Shown = Effect.Success<ReturnType<typeof demonstrations>>["shown"]

const share = (shown: Shown, isRight: (shown: Shown[number]) => boolean): number =>
  shown.filter(isRight).length / shown.length

/** `r:strawberry=` */
const countOf = (prompt: string): string => {
  const [letter = "", word = ""] = prompt.slice(0, -1).split(":")
  return String(word.split(letter).length - 1)
}

/** `min?A2.5B0.7C1.11=` */
const choiceOf = (prompt: string): string | undefined => {
  const numbers = Array.from(prompt.matchAll(/([A-F])([\d.]+)/g), ([, letter, number]) => ({
    letter,
    number: Number(number)
  }))
  const sorted = numbers.toSorted((one, other) => one.number - other.number)
  return (prompt.startsWith("max") ? sorted.at(-1) : sorted[0])?.letter
}

const needsReference = (loss: { readonly [name: string]: unknown }) =>
  Effect.map(
    TrainerRun.make({
      mode: Recipe.definitions["mcqa"]!,
      file: { loss },
      input: { trainer: {}, lora: {}, loss: {} }
    }),
    (settings) => Result.getOrThrow(Preset.resolve(settings.loss)).needsReference
  )

describe("defaults for any model", () => {
  it("warm up for ten steps, at most a quarter of the run", () => {
    assert.deepStrictEqual(
      [undefined, 200, 20, 3].map((steps) => Recipe.ownModel(steps).trainer["warmup_steps"]),
      [10, 10, 5, 0]
    )
  })
})

describe("recipes", () => {
  it.effect("name a loss that the trainer takes, also where their KL penalty is switched off", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* needsReference({}))
      assert.isFalse(yield* needsReference({ kl_coef: 0 }))
      assert.isFalse(yield* needsReference({ preset: "sft" }))
    })
  )

  it.effect.each(Object.keys(Recipe.definitions))(
    "%s: demonstrations fit the vocabulary and the length, batches are whole groups",
    (name) =>
      Effect.gen(function* () {
        const { recipe, shown } = yield* demonstrations(name)
        for (const { completion, prompt } of shown) {
          const text = prompt + completion
          assert.isTrue(
            Array.from(text).every((character) => recipe.characters.includes(character)),
            text
          )
          // The end is a token more.
          assert.isBelow(text.length, recipe.longest, text)
        }
        const { env, trainer } = Recipe.definitions[name]!
        assert.strictEqual(Number(trainer["batch_size"]) % Number(env["group_size"]), 0)
      })
  )

  it.effect("letter-counting and mcqa show the form alone: answers are right no more often than by chance", () =>
    Effect.gen(function* () {
      const counts = yield* demonstrations("letter-counting")
      // One of 0, 1, 2, 3; three deviations of 2,000 draws are 0.03.
      assert.closeTo(
        share(counts.shown, ({ completion, prompt }) => completion === countOf(prompt)),
        1 / 4,
        0.03
      )
      for (const told of "0123") {
        assert.closeTo(
          share(counts.shown, ({ completion }) => completion === told),
          1 / 4,
          0.03
        )
      }
      const choices = yield* demonstrations("mcqa")
      assert.closeTo(
        share(choices.shown, ({ completion, prompt }) => completion === choiceOf(prompt)),
        1 / 3,
        0.033
      )
    })
  )
})
