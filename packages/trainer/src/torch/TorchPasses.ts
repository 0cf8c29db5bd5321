/**
 * Passes over a batch, round by round: logprobs or entropies, and gradients. The child computes the next micro-batch
 * while the objective of one is evaluated, except under FSDP. If a micro-batch does not fit into the device's memory,
 * the budget is halved and the batch is computed again.
 */
import { Effect } from "effect"
import * as HostFeeds from "../learn/HostFeeds.ts"
import type { HostObjective } from "../learn/HostObjective.ts"
import type { Computed } from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import * as Quantile from "../local/Quantile.ts"
import type { Objective } from "../loss/Objective.ts"
import type { Answer } from "./TorchFrames.ts"
import type { OutOfMemory, TorchProcess } from "./TorchProcess.ts"
import * as TorchRounds from "./TorchRounds.ts"

type Rows = ReadonlyArray<Float32Array>
type Failed = TrainerError | OutOfMemory

export interface Options {
  readonly child: TorchProcess
  /** The learner's number in the child. */
  readonly learner: number
  readonly objective: Objective
  readonly host: HostObjective
  readonly isSharded: boolean
  /** The child keeps sequences in one row apart. */
  readonly isPacked: boolean
  /** Positions of a micro-batch; shared by the learners of an engine. */
  readonly budget: { positions: number }
  readonly discard: Effect.Effect<void, TrainerError>
}

export interface TorchPasses {
  /** log π of every position, (length) nats per item. */
  readonly logprobs: (batch: WeightedBatch) => Effect.Effect<Rows, TrainerError>
  /** Adds the batch's gradient to the child's; returns the trained positions' logprobs too, 0 elsewhere. */
  readonly gradient: (batch: WeightedBatch) => Effect.Effect<Computed & { readonly logprobs: Rows }, TrainerError>
}

const areFinite = (rows: Rows = []): boolean => rows.every((row) => row.every(Number.isFinite))

/** Logprobs under the reference policy: the sequences' own where they have them. */
const referenceOf = ({ items, sequences }: WeightedBatch, computed: Rows): Rows =>
  items.map(
    ({ length, sequence }, index) => sequences[sequence]!.refLogprobs?.subarray(1, length + 1) ?? computed[index]!
  )

const needsComputed = ({ items, sequences }: WeightedBatch): boolean =>
  items.some(({ sequence }) => sequences[sequence]!.refLogprobs === undefined)

/** Places a row per item of a round at the batch's items. */
const place = (rows: Array<Float32Array>, round: TorchRounds.Round, found: Rows): void => {
  for (const [at, index] of round.flat().entries()) rows[index] = found[at]!
}

/** Under FSDP the group of processes ends with a rank whose memory is full. */
const isOutOfMemory = ({ message, reason }: TrainerError): boolean =>
  reason === "engineLost" && /out of memory|OutOfMemoryError/i.test(message)

interface Begun {
  readonly part: WeightedBatch
  readonly round: TorchRounds.Round
  readonly answer: Effect.Effect<Answer, Failed>
}

/** Halves the budget and computes again, as often as memory is full. */
const makeFitting = ({ budget, discard }: Pick<Options, "budget" | "discard">) => {
  const halved = Effect.fnUntraced(function* (batch: WeightedBatch, cause: string) {
    const longest = Math.max(...batch.items.map(({ length }) => length))
    const tokenBudget = Math.floor(budget.positions / 2)
    if (tokenBudget < longest) {
      return yield* new TrainerError({
        reason: "settings",
        message: `--engine torch: a micro-batch of ${budget.positions} positions does not fit into memory (${cause}), and the longest sequence has ${longest}: set --remat, lower --seq_len, or use more GPUs with --parallel fsdp`
      })
    }
    budget.positions = tokenBudget
    yield* Effect.logWarning("micro-batches halved: memory is full", { tokenBudget, cause })
    yield* discard
  })

  const fitting = <A>(batch: WeightedBatch, compute: Effect.Effect<A, Failed>): Effect.Effect<A, TrainerError> =>
    compute.pipe(
      Effect.catchTag("OutOfMemory", ({ message }) =>
        Effect.andThen(
          halved(batch, message),
          Effect.suspend(() => fitting(batch, compute))
        )
      ),
      Effect.tapError((error) =>
        Effect.sync(() => {
          if (isOutOfMemory(error)) budget.positions = Math.ceil(budget.positions / 2)
        })
      )
    )
  return fitting
}

export const make = ({ child, host, isPacked, isSharded, learner, objective, ...options }: Options): TorchPasses => {
  const { budget } = options
  const { ranks } = child.about
  const fitting = makeFitting(options)
  const roundsOf = (batch: WeightedBatch, keepsPairs: boolean) =>
    TorchRounds.of(batch, { tokenBudget: budget.positions, ranks, keepsPairs, isPacked })

  /** Sends a round's request. */
  const begin = Effect.fnUntraced(function* (
    batch: WeightedBatch,
    round: TorchRounds.Round,
    wanted: { readonly gradient: boolean; readonly everywhere: boolean }
  ): Effect.fn.Return<Begun, TrainerError> {
    const part = TorchRounds.batchOf(batch, round)
    const { everywhere, gradient } = wanted
    let at = 0
    const request = {
      op: "logprobs",
      learner,
      gradient,
      reference: gradient && objective.needsReference && needsComputed(part),
      lengths: part.items.map(({ length }) => length),
      parts: round.map((indices) => indices.map(() => at++))
    }
    return { part, round, answer: yield* child.send(request, TorchRounds.inputs(part, everywhere)) }
  })

  const valuesOf = (batch: WeightedBatch, name: "logprobs" | "entropies", everywhere: boolean) =>
    fitting(
      batch,
      Effect.gen(function* () {
        const rows: Array<Float32Array> = []
        for (const round of roundsOf(batch, false)) {
          const { answer, part } = yield* begin(batch, round, { gradient: false, everywhere })
          const values = (yield* answer).tensors[name]!
          place(rows, round, everywhere ? TorchRounds.split(part.items, values) : HostFeeds.scatter(part, values))
        }
        return rows
      })
    )

  /** The objective's quantile of the entropies of all trained tokens; undefined if it uses none. */
  const thresholdOf = Effect.fnUntraced(function* (batch: WeightedBatch) {
    if (objective.entropyQuantile === null) return undefined
    const values = TorchRounds.gather(batch, yield* valuesOf(batch, "entropies", false))
    return Quantile.of(Float64Array.from(values), objective.entropyQuantile)
  })

  /** The objective at a round's logprobs. */
  const evaluate = Effect.fnUntraced(function* ({ answer, part }: Begun, threshold: number | undefined) {
    const { tensors } = yield* answer
    const logprobs = HostFeeds.scatter(part, tensors["logprobs"]!)
    const { reference } = tensors
    const evaluated = yield* host.evaluate(
      part,
      logprobs,
      reference && referenceOf(part, HostFeeds.scatter(part, reference)),
      { values: HostFeeds.scatter(part, tensors["entropies"]!), threshold }
    )
    return { ...evaluated, logprobs }
  })

  const gradientOf = Effect.fnUntraced(function* (batch: WeightedBatch, threshold: number | undefined) {
    const rounds = roundsOf(batch, objective.needsPairs)
    const microBatches = rounds.length
    const logprobs: Array<Float32Array> = []
    const backwards: Array<Effect.Effect<unknown, Failed>> = []
    let { figures, loss } = yield* host.evaluate({ ...batch, items: [] }, [])
    let positions = 0
    const beginAt = (index: number) =>
      index < microBatches ? begin(batch, rounds[index]!, { gradient: true, everywhere: false }) : Effect.undefined
    let ahead = yield* beginAt(0)
    for (const [index, round] of rounds.entries()) {
      const begun = ahead ?? (yield* beginAt(index))!
      ahead = isSharded ? undefined : yield* beginAt(index + 1)
      const evaluated = yield* evaluate(begun, threshold)
      const { entropySlopes, slopes } = evaluated
      place(logprobs, round, evaluated.logprobs)
      loss += evaluated.loss
      figures = host.combine(figures, evaluated.figures)
      positions += TorchRounds.positions(batch, round, isPacked)
      if (!Number.isFinite(loss) || !areFinite(slopes) || !areFinite(entropySlopes)) {
        return { loss: Number.NaN, figures, isFinite: false, microBatches, positions, logprobs }
      }
      const counts = round.map((indices) => indices.reduce((sum, one) => sum + batch.items[one]!.trained, 0))
      const tensors = {
        slopes: TorchRounds.gather(begun.part, slopes),
        ...(entropySlopes && { entropy_slopes: TorchRounds.gather(begun.part, entropySlopes) })
      }
      backwards.push(yield* child.send({ op: "backward", learner, counts }, tensors))
    }
    // Only now, so that the child never waits.
    for (const done of backwards) yield* done
    return { loss, figures, isFinite: true, microBatches, positions, logprobs }
  })

  return {
    logprobs: (batch) => valuesOf(batch, "logprobs", true),
    gradient: (batch) => Effect.flatMap(thresholdOf(batch), (threshold) => fitting(batch, gradientOf(batch, threshold)))
  }
}
