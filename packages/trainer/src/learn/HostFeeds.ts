/**
 * Gathers the trained positions of a weighted batch into the inputs of `HostObjective`, and scatters results back.
 *
 * N is the number of trained positions, item after item; masked positions do not affect the loss and are omitted.
 */
import { Trajectory } from "@atropos/core"
import type { HostTensor } from "../exec/Executor.ts"
import type { Objective } from "../loss/Objective.ts"
import * as TrainingSequence from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

/** Marks a token without a logprob; no logprob is above 0. */
const unknown = 1

/** log π_old of an item's positions if it is known before the first pass, else `unknown`. */
const oldOf = ({ items, oldLogprobs, sequences }: WeightedBatch, { oldPolicy }: Objective, index: number) => {
  const own = oldLogprobs?.[index]
  const engine = oldPolicy === "engine" ? sequences[items[index]!.sequence]!.engineLogprobs : undefined
  return (t: number): number => {
    const sampled = engine?.[t + 1] ?? Number.NaN
    return Trajectory.isSampled(sampled) ? sampled : (own?.[t] ?? unknown)
  }
}

/**
 * log π_old at each item's positions, (length) nats, 0 where not trained, if known for all trained tokens; `none` or
 * `some` if it is known for none or only some of them.
 */
export const oldLogprobs = (
  batch: WeightedBatch,
  objective: Objective
): ReadonlyArray<Float32Array> | "none" | "some" => {
  let known = 0
  let trained = 0
  const rows = batch.items.map(({ length, sequence }, index) => {
    const { mask } = batch.sequences[sequence]!
    const old = oldOf(batch, objective, index)
    return Float32Array.from({ length }, (_, t) => {
      if (mask[t + 1] === 0) return 0
      const logprob = old(t)
      trained++
      if (logprob !== unknown) known++
      return logprob
    })
  })
  return known === trained ? rows : known === 0 ? "none" : "some"
}

type Reals = ReadonlyArray<ArrayLike<number>>

export interface Given {
  readonly logprobs: Reals
  readonly refLogprobs: Reals | undefined
  readonly entropies: { readonly values: Reals; readonly threshold?: number | undefined } | undefined
  readonly real: "float32" | "float64"
}

const lengthProblem = ({ items }: WeightedBatch, what: string, source: Reals): string | undefined => {
  if (source.length !== items.length) return `${source.length} ${what} for ${items.length} sequences`
  const wrong = items.findIndex(({ length }, i) => source[i]!.length !== length)
  return wrong === -1
    ? undefined
    : `${what} of sequence ${wrong}: ${source[wrong]!.length} values for ${items[wrong]!.length} positions`
}

const pairProblem = ({ items, sequences }: WeightedBatch): string | undefined => {
  const present = new Set(items.map(({ sequence }) => sequence))
  const alone = items.find(({ sequence }) => !present.has(sequences[sequence]!.pair?.partner ?? -1))
  return alone && `sequence ${alone.sequence} is compared with another, which is not in this batch`
}

/** Describes an invalid engine response; undefined if it is valid. */
export const problem = (
  batch: WeightedBatch,
  { name, needsPairs, needsReference }: Objective,
  { entropies, logprobs, refLogprobs }: Omit<Given, "real">
): string | undefined => {
  const own =
    lengthProblem(batch, "logprobs", logprobs) ??
    (entropies && lengthProblem(batch, "entropies", entropies.values)) ??
    (needsPairs ? pairProblem(batch) : undefined)
  if (own !== undefined || !needsReference) return own
  if (refLogprobs !== undefined) return lengthProblem(batch, "reference logprobs", refLogprobs)
  const without = batch.items.find(({ sequence }) => batch.sequences[sequence]!.refLogprobs === undefined)
  return without && `loss ${name} needs reference logprobs, and sequence ${without.sequence} has none`
}

export const gather = (
  batch: WeightedBatch,
  objective: Objective,
  { entropies, logprobs, real, refLogprobs }: Given
): { readonly [input: string]: HostTensor } => {
  const { items, sequences } = batch
  const count = items.reduce((sum, { trained }) => sum + trained, 0)
  const reals = () => (real === "float64" ? new Float64Array(count) : new Float32Array(count))
  const columns = {
    logprobs: reals(),
    loss_mask: reals().fill(1),
    token_weights: reals(),
    advantages: reals(),
    old_logprobs: reals().fill(unknown),
    engine_logprobs: reals().fill(unknown),
    ...(objective.needsReference && { ref_logprobs: reals() }),
    ...(objective.needsTeacher && { teacher_logprobs: reals().fill(unknown) }),
    ...(objective.needsPairs && { preferences: reals() }),
    ...(entropies && { entropies: reals() })
  }
  const slots = new Int32Array(count)
  let at = 0
  for (const [index, { length, sequence, weight }] of items.entries()) {
    const { advantages, engineLogprobs, mask, pair, refLogprobs: ownReference } = sequences[sequence]!
    const present = logprobs[index]!
    const old = oldOf(batch, objective, index)
    const reference = refLogprobs?.[index]
    for (let t = 0; t < length; t++) {
      if (mask[t + 1] === 0) continue
      columns.logprobs[at] = present[t]!
      columns.token_weights[at] = weight
      columns.advantages[at] = advantages[t + 1]!
      columns.old_logprobs[at] = old(t)
      const engine = engineLogprobs?.[t + 1] ?? Number.NaN
      if (Trajectory.isSampled(engine)) columns.engine_logprobs[at] = engine
      if (columns.ref_logprobs) columns.ref_logprobs[at] = reference?.[t] ?? ownReference?.[t + 1] ?? Number.NaN
      if (columns.teacher_logprobs) {
        columns.teacher_logprobs[at] = TrainingSequence.teacherLogprob(sequences[sequence]!, t + 1) ?? unknown
      }
      if (columns.entropies) columns.entropies[at] = entropies!.values[index]![t]!
      if (columns.preferences) columns.preferences[at] = pair?.preference ?? 0
      slots[at] = index
      at++
    }
  }
  const tensors = Object.entries(columns).map(
    ([name, data]) => [name, { dtype: real, shape: [count, 1], data }] as const
  )
  const counts = Float64Array.from(items, ({ trained }) => trained)
  const itemOf = new Map(items.map(({ sequence }, index) => [sequence, index]))
  const partners = Int32Array.from(items, ({ sequence }, index) => {
    const partner = sequences[sequence]!.pair?.partner
    return (partner === undefined ? undefined : itemOf.get(partner)) ?? index
  })
  return {
    ...Object.fromEntries(tensors),
    ...((objective.needsSequences || objective.needsPairs) && {
      slots: { dtype: "int32" as const, shape: [count], data: slots },
      counts: {
        dtype: real,
        shape: [items.length, 1],
        data: real === "float64" ? counts : Float32Array.from(counts)
      }
    }),
    ...(objective.needsPairs && { partners: { dtype: "int32" as const, shape: [items.length], data: partners } }),
    ...(objective.entropyQuantile !== null && {
      entropy_threshold: {
        dtype: real,
        shape: [],
        data: (real === "float64" ? Float64Array : Float32Array).of(entropies?.threshold ?? Number.NaN)
      }
    })
  }
}

/** Places values of trained positions at their items' positions; 0 elsewhere. */
export const scatter = (
  { items, sequences }: WeightedBatch,
  values: ArrayLike<number>
): ReadonlyArray<Float32Array> => {
  let at = 0
  return items.map(({ length, sequence }) => {
    const { mask } = sequences[sequence]!
    const slopes = new Float32Array(length)
    for (let t = 0; t < length; t++) if (mask[t + 1] === 1) slopes[t] = values[at++]!
    return slopes
  })
}
