/**
 * Checks invariants of an objective on synthetic tokens, so that a broken custom loss fails before training. Cannot
 * check that the loss is the intended one or that its sign is right.
 */
import { Effect, type Scope } from "effect"
import type { Executor, ExecutorError } from "../exec/Executor.ts"
import type { Objective } from "../loss/Objective.ts"
import * as ObjectiveProbe from "./ObjectiveProbe.ts"

export interface Verdict {
  readonly law: string
  readonly checks: number
  readonly worst: number
  readonly limit: number
  readonly isBroken: boolean
  /** The location and the likely cause; undefined if the law holds. */
  readonly explanation: string | undefined
}

type Token = ObjectiveProbe.Token
type Sample = ReadonlyArray<ReadonlyArray<Token>>

const worse = (a: number, b: number): boolean => Number.isNaN(a) || a > b

/** Accumulates differences; keeps the worst one and its location. */
const tally = (law: string, limit: number, explain: (where: string, difference: number) => string) => {
  let checks = 0
  let worst = 0
  let where = ""
  return {
    note: (difference: number, at: string) => {
      checks++
      if (Number.isNaN(worst) || !worse(difference, worst)) return
      worst = difference
      where = at
    },
    verdict: (): Verdict => {
      const isBroken = worse(worst, limit)
      return { law, checks, worst, limit, isBroken, explanation: isBroken ? explain(where, worst) : undefined }
    }
  }
}

const change = (sample: Sample, edit: (token: Token, sequence: number, at: number) => Partial<Token>): Sample =>
  sample.map((tokens, sequence) => tokens.map((token, at) => ({ ...token, ...edit(token, sequence, at) })))

const relative = (a: number, b: number, size: number): number => Math.abs(a - b) / Math.max(size, 1e-12)

const sizeOf = (slopes: ReadonlyArray<number>): number => Math.max(...slopes.map(Math.abs), 0)

const seeds = [1, 2, 3]
const exact = 1e-9
const step = 1e-5

interface Tried {
  readonly objective: Objective
  /** float64. */
  readonly probe: ObjectiveProbe.Probe
  /** float32, as in training. */
  readonly single: ObjectiveProbe.Probe
}

/** Compares the gradient with central differences, with stop-gradient values held constant. */
const gradient = Effect.fnUntraced(function* ({ objective, probe }: Tried) {
  const held = tally(
    "the gradient matches the loss",
    1e-5,
    (where) =>
      `at ${where} the gradient is not the slope of the loss. Usual cause: an operation with a kink or a custom gradient (customGradient, cast, sign)`
  )
  const present = tally(
    "the loss depends on the logprobs",
    0,
    () => "every slope is 0: nothing would be learned. Is everything inside a stopGradient, or are logprobs unused?"
  )
  for (const seed of seeds) {
    const sample = ObjectiveProbe.sample(seed)
    const at = yield* probe.run(ObjectiveProbe.weighted(sample, objective))
    const size = sizeOf(at.slopes)
    present.note(size > 0 ? 0 : 1, `batch ${seed}`)
    const places = ObjectiveProbe.whole(ObjectiveProbe.weighted(sample, objective))
    const names = objective.needsEntropies ? (["logprobs", "entropies"] as const) : (["logprobs"] as const)
    for (const [block, name] of names.entries()) {
      for (let i = 0; i < places.length; i += 3) {
        const { sequence, token } = places[i]!
        const loss = (move: number) => {
          const moved = change(sample, (one, s, t) =>
            s === sequence && t === token ? { [name]: one[name] + move } : {}
          )
          return probe.frozenLoss(ObjectiveProbe.weighted(moved, objective), at.frozen)
        }
        const slope = ((yield* loss(step)) - (yield* loss(-step))) / (2 * step)
        const where = `sequence ${sequence}, token ${token} (${name}) of batch ${seed}: gradient ${at.slopes[block * places.length + i]}, slope ${slope}`
        held.note(relative(slope, at.slopes[block * places.length + i]!, Math.max(size, 1e-3)), where)
      }
    }
  }
  return [present.verdict(), held.verdict()]
})

/** Replaces all values at masked tokens; loss, slopes and metrics must not change. */
const masking = Effect.fnUntraced(function* ({ objective, probe }: Tried) {
  const law = tally(
    "masked tokens have no influence",
    0,
    (where) =>
      `${where} when values at masked tokens were replaced. Multiply by mask before summing over a sequence; nothing else may depend on other tokens`
  )
  for (const seed of seeds) {
    const sample = ObjectiveProbe.sample(seed)
    const replaced = change(sample, ({ loss_mask }, sequence, at) =>
      loss_mask === 1
        ? {}
        : {
            logprobs: -7 - at,
            old_logprobs: -0.1 * sequence,
            engine_logprobs: -20,
            ref_logprobs: -25,
            teacher_logprobs: -30,
            entropies: 0.01,
            distill_entropies: 3,
            advantages: 40 - 80 * (at % 2)
          }
    )
    const before = yield* probe.run(ObjectiveProbe.weighted(sample, objective))
    const after = yield* probe.run(ObjectiveProbe.weighted(replaced, objective))
    law.note(Math.abs(before.loss - after.loss), `the loss moved from ${before.loss} to ${after.loss}`)
    before.slopes.forEach((slope, i) => law.note(Math.abs(slope - after.slopes[i]!), "the gradient moved"))
    for (const [name, figure] of before.figures) {
      law.note(Math.abs(figure - after.figures.get(name)!), `the metric ${name} moved`)
    }
  }
  return [law.verdict()]
})

/** No sequence has 1000 tokens. */
const keyOf = ({ sequence, token }: ObjectiveProbe.TokenRef): number => sequence * 1000 + token

/** Reorders, pads and splits the batch; results must not change. */
const arrangement = Effect.fnUntraced(function* ({ objective, probe }: Tried) {
  const cause =
    "Something is summed or averaged over axis 0, all tokens of a micro-batch: use aggregation, sequenceMean or sequenceSum instead"
  const order = tally(
    "the order of sequences does not matter",
    exact,
    (where) => `${where} with the sequences reversed. ${cause}`
  )
  const packing = tally(
    "padding and packing do not matter",
    exact,
    (where) => `${where} with padding between reordered tokens. ${cause}`
  )
  const parts = tally(
    "micro-batches add up to the batch",
    exact,
    (where) => `${where} when the batch was computed in three parts and summed. ${cause}`
  )
  for (const seed of seeds) {
    const sample = ObjectiveProbe.sample(seed)
    const batch = ObjectiveProbe.weighted(sample, objective)
    const places = ObjectiveProbe.whole(batch)
    const expected = yield* probe.run(batch)
    const size = Math.max(Math.abs(expected.loss), sizeOf(expected.slopes))
    const compare = (
      law: typeof order,
      got: ReadonlyArray<ObjectiveProbe.Probed>,
      input: ReadonlyArray<ReadonlyArray<ObjectiveProbe.TokenRef>>
    ) => {
      const loss = got.reduce((sum, part) => sum + part.loss, 0)
      law.note(relative(loss, expected.loss, size), `the loss was ${loss} instead of ${expected.loss}`)
      const slopes = new Map(input.flatMap((one, part) => one.map((place, i) => [keyOf(place), got[part]!.slopes[i]!])))
      places.forEach((place, i) =>
        law.note(relative(slopes.get(keyOf(place))!, expected.slopes[i]!, size), "the gradient changed")
      )
    }
    const reversed = ObjectiveProbe.whole(batch, [...batch.keys()].toReversed())
    compare(order, [yield* probe.run(batch, reversed)], [reversed])
    // Padding: masked tokens of one more pair, between the others.
    const padding = sample[0]!.map((token) => ({ ...token, loss_mask: 0 as const, advantages: 0 }))
    const padded = [...batch, { tokens: padding, weight: 0 }, { tokens: padding, weight: 0 }]
    const filling = ObjectiveProbe.whole(padded, [6, 7])
    const interleaved = places.toReversed().flatMap((place, i) => (filling[i] ? [filling[i], place] : [place]))
    compare(packing, [yield* probe.run(padded, interleaved)], [interleaved])
    const cut = [
      [0, 1],
      [2, 3],
      [4, 5]
    ].map((sequences) => ObjectiveProbe.whole(batch, sequences))
    compare(parts, yield* Effect.forEach(cut, (part) => probe.run(batch, part)), cut)
  }
  return [order.verdict(), packing.verdict(), parts.verdict()]
})

const extremes: { readonly [what: string]: (token: Token, at: number) => Partial<Token> } = {
  "a present logprob of -10000": () => ({ logprobs: -1e4 }),
  "an old logprob of -10000, so that the ratio is huge": () => ({ old_logprobs: -1e4, engine_logprobs: -1e4 }),
  "an engine's logprob of -10000": () => ({ engine_logprobs: -1e4 }),
  "a reference's logprob of -10000": () => ({ ref_logprobs: -1e4 }),
  "a teacher's logprob of -10000": () => ({ teacher_logprobs: -1e4 }),
  "logprobs of 0": () => ({ logprobs: 0, old_logprobs: 0, engine_logprobs: 0, ref_logprobs: 0, teacher_logprobs: 0 }),
  "an advantage of 1000000": (_, at) => ({ advantages: at % 2 === 0 ? 1e6 : -1e6 }),
  "advantages of 0": () => ({ advantages: 0 }),
  "no logprob from the engine": () => ({ old_logprobs: 1, engine_logprobs: 1 }),
  "no logprob from the teacher": () => ({ teacher_logprobs: 1 }),
  "no entropy": () => ({ entropies: 0, distill_entropies: 0 }),
  "nothing trained": () => ({ loss_mask: 0 }),
  "nothing trained, and a logprob of -10000": () => ({ loss_mask: 0, logprobs: -1e4 }),
  "one token trained": (_, at) => ({ loss_mask: at === 2 ? 1 : 0 }),
  "-10000 at a masked token": ({ loss_mask }) =>
    loss_mask === 1 ? {} : { logprobs: -1e4, old_logprobs: 0, engine_logprobs: 0, ref_logprobs: 0 }
}

/** In float32, as in training. */
const finiteness = Effect.fnUntraced(function* ({ objective, single }: Tried) {
  const law = tally(
    "loss, gradient and metrics are finite at extremes",
    0,
    (where) =>
      `${where}. exp of a large difference overflows, and log of 0 is -Infinity: clip the difference first, graph.clip(d, -20, 20)`
  )
  for (const [what, edit] of Object.entries(extremes)) {
    const sample = change(ObjectiveProbe.sample(1), (token, _, at) => edit(token, at))
    const { figures, loss, slopes } = yield* single.run(ObjectiveProbe.weighted(sample, objective))
    const bad = [["the loss", loss], ...slopes.map((slope) => ["the gradient", slope]), ...figures].find(
      ([, value]) => !Number.isFinite(value)
    )
    law.note(bad === undefined ? 0 : Number.NaN, bad === undefined ? "" : `with ${what} ${bad[0]} is ${bad[1]}`)
  }
  return [law.verdict()]
})

const advantageOnly = Effect.fnUntraced(function* ({ objective, probe }: Tried) {
  if (!objective.isAdvantageOnly) return []
  const law = tally(
    "the loss is 0 if the advantage is 0 (isAdvantageOnly)",
    0,
    (where) => `${where}. Sequences whose advantages are 0 are not computed at all: set isAdvantageOnly to false`
  )
  for (const seed of seeds) {
    const sample = change(ObjectiveProbe.sample(seed), () => ({ advantages: 0 }))
    const { loss, slopes } = yield* probe.run(ObjectiveProbe.weighted(sample, objective))
    law.note(Math.abs(loss), `the loss is ${loss}`)
    law.note(sizeOf(slopes), `the gradient is up to ${sizeOf(slopes)}`)
  }
  return [law.verdict()]
})

/** Checks an objective against all laws. Exceptions from its code propagate: see `ObjectiveProbe.make`. */
export const check = Effect.fn("ObjectiveLaws.check")(function* (
  objective: Objective
): Effect.fn.Return<ReadonlyArray<Verdict>, ExecutorError, Executor | Scope.Scope> {
  const tried: Tried = {
    objective,
    probe: yield* ObjectiveProbe.make(objective, "float64"),
    single: yield* ObjectiveProbe.make(objective, "float32")
  }
  const verdicts = yield* Effect.forEach([gradient, masking, arrangement, finiteness, advantageOnly], (law) =>
    law(tried)
  )
  return verdicts.flat()
})
