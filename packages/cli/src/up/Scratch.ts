/**
 * Creates a recipe for an environment without one (`--model scratch`): characters from the prompts of its items and the
 * gold answers of its claims, and demonstrations of gold answers, mostly for another item's prompt, which teach the
 * format and leave correctness to the reward.
 *
 * Works if a short answer follows from a short prompt. A recipe exported by the environment's file takes precedence.
 */
import { Environment, SeededRandom } from "@atropos/core"
import type { ScriptedRequest } from "@atropos/core/inference/backend/Scripted"
import * as Characters from "@atropos/trainer/model/Characters"
import { Clock, Effect, Option, Stream } from "effect"
import type { RunSettings } from "../config/RunSettings.ts"
import * as Services from "../config/Services.ts"
import { UsageError } from "../base/Failure.ts"
import * as Recipe from "./Recipe.ts"

/** Number of items read, and the time limit. */
const lookedAt = 512
const lookedAtHeldOut = 64
const lookingMillis = 20_000

/** Share of correct demonstrations. */
const right = 0.1

/** Answer tokens to allow if no gold answer is known. */
const unknownAnswer = 16

interface Seen {
  readonly prompt: string
  readonly gold: string | undefined
}

const promptOf = (request: ScriptedRequest): string =>
  "prompt" in request ? request.prompt : Characters.chat(request.messages)

/** Collects the prompts of the environment with a policy that answers nothing. */
const look = Effect.fnUntraced(function* (settings: RunSettings) {
  const requested: Array<string> = []
  const all: Array<string> = []
  const policy = (request: ScriptedRequest) => {
    requested.push(promptOf(request))
    return ""
  }
  return yield* Effect.gen(function* () {
    const environment = yield* Environment.Environment
    const gold = yield* Option.match(environment.claims, {
      onNone: () => Effect.succeed<ReadonlyArray<Environment.ClaimedItem>>([]),
      onSome: ({ items }) => items.pipe(Stream.take(lookedAt), Stream.runCollect)
    })
    const until = (yield* Clock.currentTimeMillis) + lookingMillis
    const isLate = Effect.map(Clock.currentTimeMillis, (now) => now > until)
    // The fate of the empty answers does not matter.
    const ask = <E>(effect: Effect.Effect<unknown, E>) =>
      Effect.exit(Effect.timeoutOption(effect, "5 seconds")).pipe(Effect.map(() => requested.splice(0)))
    const seen = yield* environment.work(0).pipe(
      Stream.take(lookedAt),
      Stream.takeUntilEffect(() => isLate),
      Stream.mapEffect(({ rollOut }) => ask(rollOut)),
      Stream.zipWithIndex,
      Stream.map(([prompts, index]): ReadonlyArray<Seen> => {
        all.push(...prompts)
        const episode = gold[index]?.gold[0]
        const isShort = episode !== undefined && episode.messages.length <= 1
        return prompts[0] === undefined ? [] : [{ prompt: prompts[0], gold: isShort ? episode.completion : undefined }]
      }),
      Stream.runCollect
    )
    if (Option.isSome(environment.evaluation)) {
      yield* environment.evaluation.value.pipe(
        Stream.take(lookedAtHeldOut),
        Stream.takeUntilEffect(() => isLate),
        Stream.mapEffect(({ evaluate }) => ask(evaluate)),
        Stream.runForEach((prompts) => Effect.sync(() => all.push(...prompts)))
      )
    }
    return { seen: seen.flat(), prompts: all }
  }).pipe(Effect.provide(Services.layer(settings, policy)))
})

const isAscii = (character: string): boolean => character <= "\x7f"

const wrong = (message: string) => new UsageError({ message: `--model scratch: ${message}` })

const make = Effect.fn("Scratch.make")(function* (settings: RunSettings) {
  const { prompts, seen } = yield* look(settings)
  if (seen.length === 0) return yield* wrong(`${settings.word} sent no prompt to its policy, so it cannot be learned`)
  const examples = seen.flatMap(({ gold, prompt }) => (gold === undefined ? [] : [{ prompt, gold }]))
  const foreign = examples.flatMap(({ gold }) => Array.from(gold)).find((character) => !isAscii(character))
  if (foreign !== undefined) {
    return yield* wrong(
      `answers of ${settings.word} contain ${JSON.stringify(foreign)}, but a model from scratch can only write ASCII: use a pretrained model`
    )
  }
  const texts = [...prompts, ...examples.map(({ gold }) => gold)].join("")
  // Without known answers, correct ones may contain digits that no prompt has.
  const more = examples.length === 0 && /\d/.test(texts) ? "0123456789" : ""
  const characters = Array.from(new Set(texts + more))
    .filter(isAscii)
    .toSorted()
    .join("")
  const maxPromptLength = Math.max(...prompts.map(({ length }) => length))
  const answerLength = examples.length === 0 ? unknownAnswer : Math.max(...examples.map(({ gold }) => gold.length))
  const { seed } = settings.input
  return {
    characters,
    longest: maxPromptLength + answerLength + 2,
    embeddingDeviation: Recipe.toldApart,
    demonstration: (index) => {
      const random = SeededRandom.seeded(typeof seed === "number" ? seed : 0, index)
      const { gold, prompt } = examples[index % examples.length]!
      return { prompt, completion: random.chance(right) ? gold : random.pick(examples).gold }
    },
    warmStart: { steps: examples.length === 0 ? 0 : 200, batchSize: 64, learningRate: 2e-3 }
  } satisfies Recipe.Recipe
})

/** For any environment. */
export const definition: Recipe.Definition = {
  make,
  env: Recipe.env,
  trainer: { ...Recipe.trainer, training_steps: 400 },
  // Without a KL penalty it settles on the most frequent answers.
  loss: { ...Recipe.loss, kl: "k2", kl_coef: 0.1 }
}
