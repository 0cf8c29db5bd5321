/**
 * Measures this machine's speed with a model: prefill, decoding steps, training. Each is measured at the sizes of the
 * run, as far as a few seconds allow.
 */
import type { Model } from "@atropos/trainer/model/Model"
import * as Engine from "@atropos/trainer/engine/Engine"
import { Clock, Effect, Stream } from "effect"
import * as Trial from "../train/Trial.ts"

export interface Speed {
  /** Prompt tokens per second. */
  readonly prompts: number
  /** Seconds of one decoding step, which gives each row a token: constant part, and per row. */
  readonly decoding: { readonly step: number; readonly row: number }
  /** Trained tokens per second. */
  readonly training: number
  /** Positions trained together in the trial. */
  readonly triedTokens: number
}

export interface Sizes {
  readonly batchSize: number
  readonly groupSize: number
  readonly seqLen: number
  /** Concurrently sampled completions. */
  readonly rows: number
  readonly prompt: number
  readonly answer: number
}

export const decodingSeconds = ({ decoding: { row, step } }: Speed, rows: number): number => step + row * rows

/** Max decoding steps to measure, and seconds for them. */
const decoded = { max: 24, seconds: 1.5 }
/** Divisor for the rows of a second trial. */
const fewerRows = 8
const maxPromptLength = 512
const shortPrompt = 8

const seconds = (from: bigint, to: bigint): number => Number(to - from) / 1e9

/**
 * Samples one prompt with its completions and returns the seconds for the prompt and for a decoding step. The engine
 * reports the end of the prompt with the following step, so two tokens come first.
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
        // At least one step, regardless of its duration.
        return events >= 3 * rows && events % rows === 0 && seconds(first, now) > decoded.seconds
      }),
      Stream.runDrain
    )
  const steps = events / rows - 2
  const step = steps <= 0 ? seconds(begun, last) : seconds(first, last) / steps
  return { prompt: Math.max(0, seconds(begun, first) - (steps <= 0 ? 0 : step)), step }
})

/** Measures all three; changes nothing. */
export const measure = Effect.fn("Speed.measure")(function* (
  { config }: Model,
  trainer: Trial.Measuring,
  { answer, batchSize, groupSize, prompt, rows, seqLen }: Sizes
) {
  const contextLeft = Math.max(1, seqLen - 1)
  const length = Math.max(1, Math.min(maxPromptLength, Math.round(prompt), contextLeft - 1))
  const maxTokens = Math.max(1, Math.min(decoded.max, contextLeft - length))
  let seen = 0
  /** Distinct prompts, so that none hits the prefix cache. */
  const next = () => {
    const at = 1 + seen++
    return Array.from({ length }, (_, i) => (at * 104_729 + i * 7919) % config.vocabSize)
  }
  // Warm-up.
  yield* sample(next().slice(0, shortPrompt), 1, 1)
  const all = yield* sample(next(), rows, maxTokens)
  const less = Math.max(1, Math.floor(rows / fewerRows))
  const some = less < rows ? yield* sample(next(), less, maxTokens) : all
  const row = less < rows ? Math.max(0, (all.step - some.step) / (rows - less)) : 0

  const training = yield* Trial.run(trainer, {
    batchSize,
    groupSize,
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
