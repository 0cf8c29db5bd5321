/**
 * How fast this machine is with a model: prompts read, steps of decoding, sequences trained on. Each is tried at the
 * sizes that a run will have, as far as that takes a few seconds.
 */
import type { Model } from "@atropos/trainer/model/Model"
import * as Engine from "@atropos/trainer/engine/Engine"
import { Clock, Effect, Stream } from "effect"
import * as Trial from "../train/Trial.ts"

export interface Speed {
  /** Tokens of prompts a second. */
  readonly prompts: number
  /** Seconds of one step of decoding, which gives each row a token: at all, and for each row. */
  readonly decoding: { readonly step: number; readonly row: number }
  /** Tokens trained a second. */
  readonly training: number
  /** Positions that were trained at once in the trial. */
  readonly triedTokens: number
}

/** Sizes of a step, tokens and numbers. */
export interface Sizes {
  readonly batchSize: number
  readonly seqLen: number
  /** Completions that are sampled at once. */
  readonly rows: number
  readonly prompt: number
  readonly answer: number
}

/** Seconds that a step of decoding takes. */
export const decodingSeconds = ({ decoding: { row, step } }: Speed, rows: number): number => step + row * rows

/** Steps of decoding that are timed, and seconds for them. */
const decoded = { most: 24, seconds: 1.5 }
/** Fewer rows of a second trial. */
const fewerRows = 8
/** Longest prompt that is tried. */
const longestPrompt = 512
/** Enough of a prompt for the first run. */
const shortPrompt = 8

const seconds = (from: bigint, to: bigint): number => Number(to - from) / 1e9

/**
 * One prompt and its completions: seconds for the prompt, and for a step of decoding. The engine tells of the prompt's
 * end with the step after it, so two tokens come first.
 */
const sample = Effect.fnUntraced(function* (promptTokens: ReadonlyArray<number>, rows: number, maxTokens: number) {
  const engine = yield* Engine.Engine
  const begun = yield* Clock.currentTimeNanos
  let first = begun
  let last = begun
  let events = 0
  yield* engine
    .stream({ promptTokens, n: rows, maxTokens, temperature: 1, topP: 1, topK: 0, stopTokenIds: [], seed: 0 })
    .pipe(
      Stream.mapEffect(() => Clock.currentTimeNanos),
      Stream.takeUntil((now) => {
        events++
        if (events <= 2 * rows) first = now
        last = now
        // At least one step, whatever it takes.
        return events >= 3 * rows && events % rows === 0 && seconds(first, now) > decoded.seconds
      }),
      Stream.runDrain
    )
  const steps = events / rows - 2
  const step = steps <= 0 ? seconds(begun, last) : seconds(first, last) / steps
  return { prompt: Math.max(0, seconds(begun, first) - (steps <= 0 ? 0 : step)), step }
})

/** Times all three; changes nothing. */
export const measure = Effect.fn("Speed.measure")(function* (
  { config }: Model,
  trainer: Trial.Measuring,
  { answer, batchSize, prompt, rows, seqLen }: Sizes
) {
  const room = Math.max(1, seqLen - 1)
  const length = Math.max(1, Math.min(longestPrompt, Math.round(prompt), room - 1))
  const maxTokens = Math.max(1, Math.min(decoded.most, room - length))
  let seen = 0
  /** Each another one, so that none begins as one that is known already. */
  const next = () => {
    const at = 1 + seen++
    return Array.from({ length }, (_, i) => (at * 104_729 + i * 7919) % config.vocabSize)
  }
  // Prepares what the first run has to prepare.
  yield* sample(next().slice(0, shortPrompt), 1, 1)
  const all = yield* sample(next(), rows, maxTokens)
  const less = Math.max(1, Math.floor(rows / fewerRows))
  const some = less < rows ? yield* sample(next(), less, maxTokens) : all
  const row = less < rows ? Math.max(0, (all.step - some.step) / (rows - less)) : 0

  const training = yield* Trial.run(trainer, {
    batchSize,
    whole: Math.max(1, Math.min(Math.round(prompt + answer), seqLen) - 1),
    share: answer / (prompt + answer)
  })
  return {
    prompts: length / Math.min(all.prompt, some.prompt),
    decoding: { step: Math.max(0, all.step - row * rows), row },
    training: Trial.rate(training),
    triedTokens: training.tokens
  } satisfies Speed
})
