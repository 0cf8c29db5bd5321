/**
 * Mixture of experts: a router chooses k of E experts for each token, whose results are weighted and summed.
 *
 * A loop runs over blocks of rows of one expert each (`part/Dispatch`), so that the graph's size does not depend on E,
 * and unused experts cost nothing. For a row x of a token with weight w (0 for an empty row),
 *
 *     y = W_down (w h) + w b_down,  h = act(W_gate x, W_up x)
 *
 * The backward pass recomputes h block by block; expert activations are never stored. The choice has no gradient, the
 * weights of the chosen experts do. Choices may be recorded and supplied (`Routes`), weighted by the current router.
 */
import { grad } from "../graph/Autodiff.ts"
import { type Dim, dimAdd } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import { loop, type Run } from "../graph/Loop.ts"
import type { Value } from "../graph/Value.ts"
import * as Dispatch from "./part/Dispatch.ts"
import * as Gate from "./part/Gate.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Tensors from "./Tensors.ts"

/** Tensors of all experts in one, [E, ...], for a loop body. */
export interface Stack {
  readonly captured: ReadonlyArray<Value>
  /** Selects one expert's tensor from the captured values; the expert's index is int64 []. */
  readonly pick: (graph: Graph, captured: ReadonlyArray<Value>, expert: Value) => Value
  /** [E, ...], if trained. */
  readonly trained: Value | undefined
}

export const stackOf = (tensor: Value, isTrained: boolean): Stack => ({
  captured: [tensor],
  pick: (graph, [stack], expert) => graph.gather(stack!, expert),
  trained: isTrained ? tensor : undefined
})

export interface Weights {
  readonly tensor: (name: string, shape: ReadonlyArray<number>) => Value
  readonly stack: (name: string, shape: ReadonlyArray<number>) => Stack
}

/** Receives or supplies choices. `mixture` counts the layers that have one, from 0. */
export interface Routes {
  /** int64 (N, k); `RoutedExperts.unknown` if the router chooses. */
  readonly input?: (mixture: number) => Value
  /** int64 (N, k) */
  readonly hear?: (mixture: number, selected: Value) => void
}

/** The experts chosen for each token, int64 (N, k), and their weights, (N, k). */
const route = (
  graph: Graph,
  config: ModelConfig,
  { tensor }: Weights,
  x: Value,
  layer: number,
  { input: provided, hear }: Routes
) => {
  const { experts, isNormed, joint, perToken } = config.mixture!
  const isJoint = joint !== undefined
  const product = graph.gemm(x, tensor(Tensors.routerName(layer, isJoint), [experts, config.hiddenSize]), false, true)
  const scores = isJoint ? graph.add(product, tensor(Tensors.routerBiasName(layer), [experts])) : product
  const [tokens] = scores.shape
  const shape = [tokens!, perToken]
  // Stored for the backward pass: recomputation must use the same experts.
  const mixture = config.layerTraits.slice(0, layer).filter(({ isMixture }) => isMixture).length
  const selected = graph.outside(() => {
    const outputs = [
      { dtype: scores.dtype, shape },
      { dtype: "int64", shape }
    ] as const
    const own = graph.multi("TopK", [graph.stopGradient(scores), graph.ints([perToken])], outputs, { axis: -1 })[1]!
    if (provided === undefined) return own
    const known = provided(mixture)
    return graph.where(graph.greaterEq(known, graph.scalar(0, "int64")), known, own)
  })
  hear?.(mixture, selected)
  const weights = isNormed
    ? graph.softmax(graph.gatherLast(scores, selected))
    : graph.gatherLast(graph.softmax(scores), selected)
  return { selected, weights }
}

/** An expert of gpt-oss: gate and up alternate along the last axis. */
const jointExpert = (
  graph: Graph,
  { alpha, limit }: NonNullable<NonNullable<ModelConfig["mixture"]>["joint"]>,
  x: Value,
  w: Value,
  [both, bothBias, down, downBias]: ReadonlyArray<Value>
) => {
  const pairs = graph.add(graph.gemm(x, both!), bothBias!)
  const [rows, width] = pairs.shape as [Dim, Dim]
  const half = graph.dimDiv(width, 2)
  const parts = graph.split(graph.reshape(pairs, [rows, half, 2]), 2, 2)
  const [gate, up] = parts.map((part) => graph.reshape(part, [rows, half])) as [Value, Value]
  const hidden = Gate.clamped(graph, gate, up, alpha, limit)
  return graph.add(graph.gemm(graph.mul(hidden, w), down!), graph.mul(w, downBias!))
}

/** One expert over rows x (n, H) with their weights w (n, 1). */
const expert = (graph: Graph, config: ModelConfig, x: Value, w: Value, tensors: ReadonlyArray<Value>) => {
  const joint = config.mixture?.joint
  if (joint !== undefined) return jointExpert(graph, joint, x, w, tensors)
  const [gate, up, down] = tensors
  const product = (rows: Value, weight: Value) => graph.gemm(rows, weight, false, true)
  const hidden = Gate.apply(graph, config.activation, product(x, gate!), product(x, up!))
  return product(graph.mul(hidden, w), down!)
}

/** Splits a loop body's captured values: other values, and the tensors of an expert. */
const bodyOf = ({ captured }: Run, stacks: ReadonlyArray<Stack>) => {
  let at = 0
  const parts = stacks.map(({ captured: { length } }) => captured.slice(at, (at += length)))
  return {
    others: captured.slice(at),
    tensors: (graph: Graph, number: Value) => stacks.map(({ pick }, i) => pick(graph, parts[i]!, number))
  }
}

/** The row of each choice, from all blocks' [S, P, width]: (N, k, width). */
const chosenRows = (graph: Graph, stacked: Value, { places }: Dispatch.Dispatch): Value => {
  const [blocks, rows, width] = stacked.shape as [Dim, Dim, Dim]
  return graph.gather(graph.reshape(stacked, [graph.dimMul(blocks, rows), width]), places)
}

const dot = (graph: Graph, a: Value, b: Value): Value => graph.sum(graph.mul(a, b), [0, 1])

/** Gradients of the trained stacks: expert by expert, over its rows. */
const weightGradients = (
  graph: Graph,
  config: ModelConfig,
  stacks: ReadonlyArray<Stack>,
  { begins, ends, rows, tokens }: Dispatch.Dispatch,
  [x, shares, dy]: readonly [Value, Value, Value]
): ReadonlyArray<Value> => {
  const captured = [...stacks.flatMap((stack) => stack.captured), begins, ends, tokens, shares, x, dy]
  const { experts } = config.mixture!
  const count = graph.scalar(experts, "int64")
  return loop(graph, { count, symbol: experts, captured, initial: [] }, (run) => {
    const { graph: g, iteration } = run
    const { others, tensors } = bodyOf(run, stacks)
    const [begin, end, table, weights, input, output] = others as [Value, Value, Value, Value, Value, Value]
    const bound = (of: Value) => g.gather(of, g.reshape(iteration, [1]))
    const from = bound(begin)
    g.define("expert_from", from)
    g.define("expert_some", g.sub(bound(end), from))
    const some = (a: Value) => {
      const cut = g.slice(a, 0, "expert_from", dimAdd("expert_from", "expert_some"))
      return g.reshape(cut, [g.dimMul("expert_some", rows)])
    }
    const ids = some(table)
    const weight = g.reshape(some(weights), [g.dimMul("expert_some", rows), 1])
    const own = tensors(g, iteration)
    const y = expert(g, config, g.gather(input, ids), weight, own)
    return { carried: [], stacked: grad(g, dot(g, y, g.gather(output, ids)), own) }
  }).stacked
}

/** The mixture of a layer over x (N, H). */
export const build = (
  graph: Graph,
  config: ModelConfig,
  source: Weights,
  x: Value,
  layer: number,
  routes: Routes = {}
): Value => {
  const { selected, weights } = route(graph, config, source, x, layer, routes)
  const stacks = Tensors.expertStacks(config, layer).map(({ name, shape }) => source.stack(name, shape))
  const trained = stacks.flatMap((stack) => stack.trained ?? [])
  const dispatch = Dispatch.make(graph, selected, config.mixture!.experts, `experts_${layer}`)
  const { blocks, count, rows } = dispatch
  const table = [blocks, rows]

  /** Weights of the rows, [S, P]. */
  const shared = (shares: Value): Value => {
    const flat = graph.reshape(shares, [graph.dimMul(...shares.shape)])
    const none = graph.expand(graph.scalar(0, shares.dtype), [1])
    return graph.reshape(graph.gather(graph.concat([flat, none], 0), dispatch.choices), table)
  }
  const overBlocks = (
    captured: ReadonlyArray<Value>,
    body: (g: Graph, tensors: ReadonlyArray<Value>, w: Value, rowsOf: (of: number) => Value) => ReadonlyArray<Value>
  ) => {
    const common = [...stacks.flatMap((stack) => stack.captured), dispatch.experts, dispatch.tokens]
    const options = { count, symbol: blocks, captured: [...common, ...captured], initial: [] }
    return loop(graph, options, (run) => {
      const { graph: g, iteration } = run
      const { others, tensors } = bodyOf(run, stacks)
      const [experts, tokens, weight, ...inputs] = others as [Value, Value, Value, ...Array<Value>]
      const ids = g.gather(tokens, iteration)
      const w = g.reshape(g.gather(weight, iteration), [rows, 1])
      const own = tensors(g, g.gather(experts, iteration))
      return { carried: [], stacked: body(g, own, w, (of) => g.gather(inputs[of]!, ids)) }
    }).stacked
  }

  return graph.customGradient([x, weights, ...trained], () => {
    const results = overBlocks([shared(weights), x], (g, own, w, rowsOf) => [expert(g, config, rowsOf(0), w, own)])
    return {
      outputs: [graph.sum(chosenRows(graph, results[0]!, dispatch), [1])],
      backward: ([dy], { needs, recall }) => {
        if (dy === undefined) return [undefined, undefined, ...trained.map(() => undefined)]
        const [input, shares] = [recall(x), shared(recall(weights))]
        const [inputs, ofWeights] = overBlocks([shares, input, dy], (g, own, w, rowsOf) => {
          const some = rowsOf(0)
          const [dx, dw] = grad(g, dot(g, expert(g, config, some, w, own), rowsOf(1)), [some, w])
          return [dx!, dw!]
        }) as [Value, Value]
        return [
          graph.sum(chosenRows(graph, inputs, dispatch), [1]),
          graph.reshape(chosenRows(graph, ofWeights, dispatch), weights.shape),
          ...(trained.some((_, i) => needs(2 + i))
            ? weightGradients(graph, config, stacks, dispatch, [input, shares, dy])
            : trained.map(() => undefined))
        ]
      }
    }
  })[0]!
}
