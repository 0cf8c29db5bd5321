/**
 * Runs the model once for all choices of a batch: each choice's last token, followed by its speculated tokens.
 *
 * All runs have the same width, so that the numbers of a choice do not depend on the speculation of others. Logits are
 * computed only at positions that a token may be drawn from.
 */
import { Effect } from "effect"
import * as PromptLookup from "../base/PromptLookup.ts"
import type { Choice } from "./Job.ts"
import type { KvCache } from "./cache/KvCache.ts"
import type { RunInput } from "./ModelRunner.ts"

/** Speculates each choice's next tokens, at most `count`; none if a grammar constrains the choice. */
export const guesses = <W>(choices: ReadonlyArray<Choice<W>>, count: number): ReadonlyArray<ReadonlyArray<number>> =>
  choices.map(({ job, matcher, tokens }) => {
    const { work } = job
    if (work._tag !== "Generate" || matcher !== undefined) return []
    const room = work.request.maxTokens - tokens.length - 1
    return PromptLookup.guess(job.prompt, tokens, Math.min(count, room))
  })

export interface Run {
  readonly input: RunInput
  /** Index of each choice's first row of logits; the next rows follow its speculated tokens. */
  readonly places: ReadonlyArray<number>
}

/** `rows`: at least two, as many as the cache has reserved. */
export const run = <W>(
  choices: ReadonlyArray<Choice<W>>,
  guessed: ReadonlyArray<ReadonlyArray<number>>,
  cache: KvCache,
  rows: number,
  width: number
): Run => {
  const tokens = new Int32Array(rows * width)
  const outputs: Array<number> = []
  const inverses: Array<number> = []
  const places = choices.map((choice, row) => {
    const first = outputs.length
    tokens.set([choice.tokens.at(-1)!, ...guessed[row]!], row * width)
    for (let t = 0; t <= guessed[row]!.length; t++) {
      outputs.push(row * width + t)
      inverses.push(choice.job.inverseTemperature)
    }
    return first
  })
  // A single row of logits would use another kernel, with slightly different numbers.
  if (outputs.length === 1) {
    outputs.push(width)
    inverses.push(1)
  }
  return {
    input: {
      rows,
      width,
      tokens,
      cache,
      counts: Int32Array.from({ length: rows }, (_, row) => 1 + (guessed[row]?.length ?? 0)),
      outputs: Int32Array.from(outputs),
      inverseTemperatures: Float32Array.from(inverses)
    },
    places
  }
}

export const mask = <W>(choices: ReadonlyArray<Choice<W>>): Effect.Effect<void> => {
  const held = choices.filter(({ matcher }) => matcher !== undefined)
  return Effect.forEach(
    held,
    (choice) =>
      choice.matcher!.mask.pipe(
        Effect.match({
          onSuccess: (mask) => void (choice.mask = mask),
          onFailure: ({ message }) => void (choice.job.broken = message)
        })
      ),
    { concurrency: "unbounded", discard: true }
  )
}
