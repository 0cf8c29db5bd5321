/** The recipes of `atropos up`: what is shown before reinforcement learning, and that what follows earns more. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Recipe from "../../src/up/Recipe.ts"
import * as Bin from "../Bin.ts"

const demonstrated = 2_000

/** What a recipe shows, as its environment is set unless told otherwise. */
const demonstrations = Effect.fnUntraced(function* (name: string) {
  const definition = Recipe.definitions[name]!
  const recipe = yield* definition.make({ given: { ...definition.env, seed: 3 } })
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

const Line = Schema.fromJsonString(Schema.Struct({ "reward/mean": Schema.Finite }))
const decodeLine = Schema.decodeUnknownEffect(Line)

const mean = (rewards: ReadonlyArray<number>): number =>
  rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length

describe("recipes", () => {
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

  it.live(
    "letter-counting starts near chance and earns more within 80 small steps",
    () =>
      Effect.gen(function* () {
        const cwd = yield* Bin.folder
        const words = ["up", "--env", "letter-counting", "--seed", "1", "--steps", "80", "--batch-size", "256"]
        const { code, stderr } = yield* Bin.run([...words, "--port", "0", "--policy_port", "0"], { cwd })
        assert.strictEqual(code, 0, stderr)
        const fs = yield* FileSystem.FileSystem
        const text = yield* fs.readFileString(`${cwd}/.atropos/up/letter-counting-1/metrics.jsonl`)
        const lines = yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
        const rewards = lines.map((line) => line["reward/mean"])
        assert.strictEqual(rewards.length, 80)
        // Right by chance: 0.25.
        assert.isBelow(mean(rewards.slice(0, 4)), 0.33)
        assert.isAbove(mean(rewards.slice(-10)), mean(rewards.slice(0, 4)) + 0.06)
      }).pipe(Effect.provide(NodeServices.layer)),
    120_000
  )
})
