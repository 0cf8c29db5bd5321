/**
 * Generates synthetic tokens for checking objectives (masked tokens, ratios near 1, all optional inputs), and evaluates
 * objectives on them, including masked tokens, and with stop-gradient values held constant (`frozen`) for derivatives.
 */
import { Effect, type Scope } from "effect"
import * as Pieces from "../base/Pieces.ts"
import { Executor, type ExecutorError, type HostTensor } from "../exec/Executor.ts"
import { Graph } from "../graph/Graph.ts"
import * as Onnx from "../graph/Onnx.ts"
import type { Value } from "../graph/Value.ts"
import * as Aggregation from "../loss/Aggregation.ts"
import type { Objective } from "../loss/Objective.ts"
import * as ObjectiveGraph from "./ObjectiveGraph.ts"

/** Logprobs in nats; 1 if missing. */
export interface Token {
  readonly logprobs: number
  readonly entropies: number
  readonly old_logprobs: number
  readonly engine_logprobs: number
  readonly ref_logprobs: number
  readonly teacher_logprobs: number
  readonly distill_entropies: number
  readonly advantages: number
  readonly loss_mask: 0 | 1
}

export const columns = [
  "logprobs",
  "entropies",
  "old_logprobs",
  "engine_logprobs",
  "ref_logprobs",
  "teacher_logprobs",
  "distill_entropies",
  "advantages",
  "loss_mask"
] as const satisfies ReadonlyArray<keyof Token>

export interface Sequence {
  readonly tokens: ReadonlyArray<Token>
  readonly weight: number
}

/** A token of a batch: index of its sequence and position in it. */
export interface TokenRef {
  readonly sequence: number
  readonly token: number
}

/** Sequences 2k and 2k + 1 form a pair, the better one first. */
export type Batch = ReadonlyArray<Sequence>

export const whole = (batch: Batch, order: ReadonlyArray<number> = [...batch.keys()]): ReadonlyArray<TokenRef> =>
  order.flatMap((sequence) => batch[sequence]!.tokens.map((_, token) => ({ sequence, token })))

export const weighted = (sequences: ReadonlyArray<ReadonlyArray<Token>>, objective: Objective): Batch => {
  const trained = sequences.map((tokens) => tokens.filter(({ loss_mask }) => loss_mask === 1).length)
  const weights = Aggregation.weights(trained, objective)
  return sequences.map((tokens, i) => ({ tokens, weight: weights[i]! }))
}

export interface Probed {
  readonly loss: number
  /** dL/dlogprob of each place, followed by dL/dentropy if entropies are used. */
  readonly slopes: ReadonlyArray<number>
  readonly figures: ReadonlyMap<string, number>
  /** Stop-gradient values, in order of creation. */
  readonly frozen: ReadonlyArray<HostTensor>
}

export interface Probe {
  readonly run: (batch: Batch, places?: ReadonlyArray<TokenRef>) => Effect.Effect<Probed, ExecutorError>
  readonly frozenLoss: (batch: Batch, frozen: ReadonlyArray<HostTensor>) => Effect.Effect<number, ExecutorError>
}

/** A graph that records stop-gradient values and outputs them. */
class Noting extends Graph {
  readonly noted: Array<Value> = []

  override stopGradient(a: Value): Value {
    this.noted.push(a)
    return super.stopGradient(a)
  }
}

/** A graph that takes stop-gradient values as inputs. */
class Frozen extends Graph {
  private taken = 0

  override stopGradient(a: Value): Value {
    const value = this.input(`frozen_${this.taken++}`, a.dtype, a.shape)
    this.stopped.add(value)
    return value
  }
}

/** Entropy threshold that about half of the synthetic tokens exceed. */
const threshold = 1

const feedsOf = (
  graph: Graph,
  objective: Objective,
  batch: Batch,
  places: ReadonlyArray<TokenRef>
): Record<string, HostTensor> => {
  const { real } = graph as Graph & { readonly real: "float32" | "float64" }
  const reals = (values: ReadonlyArray<number>, shape: ReadonlyArray<number>): HostTensor => ({
    dtype: real,
    shape,
    data: real === "float64" ? Float64Array.from(values) : Float32Array.from(values)
  })
  const perToken = [places.length, 1]
  const tokenAt = ({ sequence, token }: TokenRef) => batch[sequence]!.tokens[token]!
  const isCurrent = objective.oldPolicy === "trainer"
  const present = [...new Set(places.map(({ sequence }) => sequence))]
  const slotOf = new Map(present.map((sequence, slot) => [sequence, slot]))
  const all: Record<string, HostTensor> = {
    ...Object.fromEntries(
      columns.map((name) => [
        name,
        reals(
          places.map((place) => tokenAt(place)[name]),
          perToken
        )
      ])
    ),
    ...(isCurrent && {
      old_logprobs: reals(
        places.map(() => 1),
        perToken
      )
    }),
    token_weights: reals(
      places.map((place) => batch[place.sequence]!.weight * tokenAt(place).loss_mask),
      perToken
    ),
    preferences: reals(
      places.map(({ sequence }) => (sequence % 2 === 0 ? 1 : -1)),
      perToken
    ),
    entropy_threshold: reals([threshold], []),
    slots: {
      dtype: "int32",
      shape: [places.length],
      data: Int32Array.from(places, ({ sequence }) => slotOf.get(sequence)!)
    },
    counts: reals(
      present.map((sequence) =>
        Math.max(1, places.filter((place) => place.sequence === sequence && tokenAt(place).loss_mask === 1).length)
      ),
      [present.length, 1]
    ),
    partners: {
      dtype: "int32",
      shape: [present.length],
      data: Int32Array.from(present, (sequence) => slotOf.get(sequence ^ 1) ?? slotOf.get(sequence)!)
    }
  }
  return Object.fromEntries(graph.inputs.flatMap(({ name }) => (all[name] ? [[name, all[name]]] : [])))
}

/** The graph's outputs are floating-point. */
const realsOf = ({ data }: HostTensor): ReadonlyArray<number> => Array.from(data as Float64Array)

/** Compiles the objective into a function. Exceptions from its code during graph building propagate. */
export const make = Effect.fn("ObjectiveProbe.make")(function* (
  objective: Objective,
  real: "float32" | "float64"
): Effect.fn.Return<Probe, ExecutorError, Executor | Scope.Scope> {
  const executor = yield* Executor
  const options = { optimization: real === "float64" ? "basic" : "all" } as const
  const noting = new Noting(real)
  const { graph, metrics } = Pieces.run(ObjectiveGraph.buildPieces(objective, noting, true))
  noting.noted.forEach((value, i) => noting.output(`noted_${i}`, value))
  const program = yield* executor.load(Onnx.toOnnx(graph), options)
  const frozenGraph = Pieces.run(ObjectiveGraph.buildPieces(objective, new Frozen(real), true)).graph
  const frozenProgram = yield* executor.load(Onnx.toOnnx(frozenGraph), options)
  return {
    run: Effect.fnUntraced(function* (batch, places = whole(batch)) {
      const { host } = yield* program.run(feedsOf(graph, objective, batch, places))
      const figures = realsOf(host["metrics"]!)
      const entropySlopes = host["entropy_slopes"]
      return {
        loss: realsOf(host["loss"]!)[0]!,
        slopes: [...realsOf(host["slopes"]!), ...(entropySlopes === undefined ? [] : realsOf(entropySlopes))],
        figures: new Map(metrics.map(({ name }, i) => [name, figures[i]!])),
        frozen: noting.noted.map((_, i) => host[`noted_${i}`]!)
      }
    }),
    frozenLoss: Effect.fnUntraced(function* (batch, frozen) {
      const feeds = feedsOf(frozenGraph, objective, batch, whole(batch))
      frozen.forEach((tensor, i) => (feeds[`frozen_${i}`] = tensor))
      const { host } = yield* frozenProgram.run(feeds, { fetch: ["loss"] })
      return realsOf(host["loss"]!)[0]!
    })
  }
})

/** Uniform numbers in [0, 1) from a fixed stream. */
const uniforms = (seed: number): (() => number) => {
  let state = (seed + 1) >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Six sequences of 4 to 13 tokens, a third of them masked; deterministic by seed. */
export const sample = (seed: number): ReadonlyArray<ReadonlyArray<Token>> => {
  const uniform = uniforms(seed * 7919)
  for (let i = 0; i < 8; i++) uniform()
  const between = (low: number, high: number) => low + (high - low) * uniform()
  const token = (advantages: number, at: number): Token => {
    const old_logprobs = between(-4, -0.2)
    return {
      logprobs: Math.min(old_logprobs + between(-0.5, 0.5), -0.01),
      entropies: between(0, 2),
      old_logprobs,
      engine_logprobs: old_logprobs,
      ref_logprobs: between(-4, -0.2),
      teacher_logprobs: between(-4, -0.2),
      distill_entropies: between(0, 1),
      advantages,
      loss_mask: at < 2 || uniform() < 0.15 ? 0 : 1
    }
  }
  return Array.from({ length: 6 }, (_, i) => {
    const advantages = (i % 2 === 0 ? 1 : -1) * between(0.3, 1.5)
    const tokens = Array.from({ length: 4 + Math.floor(uniform() * 10) }, (_, at) => token(advantages, at))
    return [...tokens.slice(0, -1), { ...tokens.at(-1)!, loss_mask: 1 as const }]
  })
}
