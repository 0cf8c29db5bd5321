/**
 * Prefills prompts: short ones of equal padded length together, long ones in chunks.
 *
 * Padding and chunking depend only on the prompt's own length (blocks of 128 tokens and a rest), so that its numbers do
 * not depend on other requests. Known blocks are taken from the `PrefixCache`. One call makes one run of at most about
 * `prefillTokens` positions, to limit the delay of running choices.
 */
import { Effect } from "effect"
import type { ExecutorError } from "../exec/Executor.ts"
import { type ModelRunner, routedOf } from "./ModelRunner.ts"
import type { Job } from "./Job.ts"
import { KvCache } from "./cache/KvCache.ts"
import { type KvShape, promptPage } from "./cache/KvShape.ts"
import type { PrefixCache } from "./cache/PrefixCache.ts"
import type { Version } from "./PolicyTable.ts"
import * as Sampler from "./Sampler.ts"

/** Multiples of 16 up to 64, then of 64: few different sizes, little padding. */
export const paddedWidth = (tokens: number): number => {
  const step = tokens <= 64 ? 16 : 64
  return Math.ceil(tokens / step) * step
}

/** Tokens per block; half a block is recomputed in each turn of a conversation, on average. */
export const blockTokens = 128

/** Max number of logits per run if every position's are requested. */
const scoredLogits = 2 ** 24

/** Max chunk of a prompt, tokens. */
const pieceTokens = <W>(job: Job<W>, prefillTokens: number, vocabulary: number): number =>
  job.work._tag === "Generate"
    ? blockTokens
    : Math.max(1, Math.min(prefillTokens, Math.floor(scoredLogits / vocabulary)))

const isBeginning = <W>(job: Job<W>): boolean => job.work._tag === "Generate" && job.processed === 0

/** Prompts of the next run: the first, and those that fit with it. */
export const nextBatch = <W>(jobs: ReadonlyArray<Job<W>>, prefillTokens: number): ReadonlyArray<Job<W>> => {
  const [first] = jobs
  if (first === undefined) return []
  if (!isBeginning(first)) return [first]
  const widthOf = (job: Job<W>) => paddedWidth(Math.min(blockTokens, job.prompt.length))
  const width = widthOf(first)
  const alike = jobs.filter((job) => isBeginning(job) && job.version === first.version && widthOf(job) === width)
  return alike.slice(0, Math.max(1, Math.floor(prefillTokens / width)))
}

/** Copies known blocks from the prefix cache; returns the number of tokens that need no prefill. */
export const extend = <W>(job: Job<W>, prefixes: PrefixCache<Version<W>>): number => {
  const { cache, prompt, version, work } = job
  if (work._tag === "Score" || version === undefined) return 0
  const known = prefixes.extend(version, prompt, cache!, job.routed)
  job.cachedTokens += known
  return known
}

/**
 * Runs the next chunk of each prompt of a batch; afterwards `processed` has grown, and complete prompts have their
 * `row`.
 */
export const run = Effect.fnUntraced(function* <W>(
  runner: ModelRunner<W>,
  batch: ReadonlyArray<Job<W>>,
  prefillTokens: number,
  prefixes: PrefixCache<Version<W>>
): Effect.fn.Return<void, ExecutorError> {
  const [first] = batch
  if (first?.version === undefined) return
  const counts = batch.map((job) =>
    Math.min(pieceTokens(job, prefillTokens, runner.vocabulary), job.prompt.length - job.processed)
  )
  const width = paddedWidth(Math.max(...counts))
  const tokens = new Int32Array(batch.length * width)
  for (const [i, job] of batch.entries()) {
    tokens.set(job.prompt.slice(job.processed, job.processed + counts[i]!), i * width)
  }
  const positions = batch.flatMap((job, i) => {
    const last = { job, at: i * width + counts[i]! - 1 }
    return job.work._tag === "Generate"
      ? [last]
      : Array.from({ length: counts[i]! }, (_, t) => ({ job, at: i * width + t }))
  })
  if (positions.length === 1) positions.push(positions[0]!)
  const output = yield* runner.run(first.version.weights, {
    rows: batch.length,
    width,
    tokens,
    cache: first.processed > 0 ? first.cache! : blank(runner.shape, batch.length),
    counts: Int32Array.from(counts),
    outputs: Int32Array.from(positions, ({ at }) => at),
    inverseTemperatures: Float32Array.from(positions, ({ job }) => job.inverseTemperature)
  })
  for (const [i, job] of batch.entries()) {
    if (job.work._tag === "Score") keepScores(job, output.rows, counts[i]!, job.work.request.topLogprobs ?? 0)
    const at = job.processed
    const { entries, routed, states } = output
    const experts = routed && routedOf(routed, i, width, 0, counts[i]!)
    if (experts !== undefined) job.routed.push(experts)
    job.cache!.append(0, entries, i, batch.length, width, counts[i]!)
    if (states !== undefined) job.cache!.replaceStates(0, states, i, batch.length)
    if (job.work._tag === "Generate" && counts[i] === blockTokens) {
      prefixes.keep(first.version, job.prompt, at, { entries, row: i, rows: batch.length, experts })
    }
    if (job.processed === job.prompt.length) job.row = output.rows[i]!
  }
})

/** Checks weights: true if a short prompt's next-token logits are finite. */
export const isSound = Effect.fnUntraced(function* <W>(
  runner: ModelRunner<W>,
  weights: W
): Effect.fn.Return<boolean, ExecutorError> {
  const width = paddedWidth(1)
  const { rows } = yield* runner.run(weights, {
    rows: 1,
    width,
    tokens: Int32Array.from({ length: width }, (_, t) => t % runner.vocabulary),
    cache: blank(runner.shape, 1),
    counts: Int32Array.of(width),
    outputs: Int32Array.of(0, 1),
    inverseTemperatures: Float32Array.of(1, 1)
  })
  return rows.every((row) => !Number.isNaN(Sampler.logprob(row, 0)))
})

const blank = (shape: KvShape, rows: number): KvCache => {
  const cache = new KvCache(shape, promptPage)
  for (let row = 0; row < rows; row++) cache.addEmpty(0)
  return cache
}

/** Row t scores the token after position t; the prompt's last position scores none. */
const keepScores = <W>(job: Job<W>, rows: ReadonlyArray<Sampler.Row>, count: number, top: number): void => {
  const from = job.processed
  for (let t = 0; t < count && from + t + 1 < job.prompt.length; t++) {
    job.scores.logprobs.push(Sampler.logprob(rows[t]!, job.prompt[from + t + 1]!))
    job.scores.alternatives.push(Sampler.alternatives(rows[t]!, top))
  }
}
