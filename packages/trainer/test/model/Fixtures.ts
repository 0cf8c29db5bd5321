/**
 * The checkpoints of `scripts/make-model-fixtures.py` and what transformers and PEFT computed with them; and running a
 * decoder.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Executor, type HostTensor } from "../../src/exec/Executor.ts"
import { grad } from "../../src/graph/Autodiff.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import * as Decoder from "../../src/model/Decoder.ts"
import * as Model from "../../src/model/Model.ts"
import * as Parameters from "../../src/model/Parameters.ts"

export const names = ["llama", "smollm", "qwen2", "qwen3"] as const
export type Name = (typeof names)[number]

const root = new URL("../fixtures/models/", import.meta.url)

export const folder = (name: Name): string => fileURLToPath(new URL(name, root))

export const adapterFolder = (name: Name): string => fileURLToPath(new URL(`${name}/adapter`, root))

interface Forward {
  /** Of each row, [T, V], float32 in base64. */
  readonly logits: ReadonlyArray<string>
  /** Of each row, of tokens 1 to T - 1. */
  readonly logprobs: ReadonlyArray<string>
}

interface Greedy {
  readonly tokens: ReadonlyArray<ReadonlyArray<number>>
  readonly logprobs: ReadonlyArray<string>
}

export interface Expected {
  readonly vocabSize: number
  readonly inputIds: ReadonlyArray<ReadonlyArray<number>>
  readonly base: Forward
  readonly adapter: Forward
  readonly prompts: ReadonlyArray<ReadonlyArray<number>>
  readonly greedy: Greedy
  readonly adapterGreedy: Greedy
}

export const expected = (name: Name): Expected =>
  // Written by the script.
  JSON.parse(readFileSync(new URL(`${name}.json`, root), "utf8")) as Expected

export const floats = (base64: string): Float32Array =>
  new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer)

export const maxDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY
  let greatest = 0
  for (let at = 0; at < a.length; at++) greatest = Math.max(greatest, Math.abs(a[at]! - b[at]!))
  // NaN differs from everything.
  return Number.isNaN(greatest) ? Number.POSITIVE_INFINITY : greatest
}

/** Sequences laid out in rows of one width; a row may hold several. */
export interface Grid {
  readonly rows: number
  readonly width: number
  readonly inputIds: Int32Array
  readonly positionIds: Int32Array
  readonly segmentIds: Int32Array
  /** Where each sequence begins, in the order given. */
  readonly starts: ReadonlyArray<number>
}

/** `rows[r]` are the sequences of row r, one after the other; the rest is padding in a segment of its own. */
export const grid = (rows: ReadonlyArray<ReadonlyArray<ReadonlyArray<number>>>): Grid => {
  const width = Math.max(...rows.map((row) => row.flat().length))
  const make = () => new Int32Array(rows.length * width)
  const [inputIds, positionIds, segmentIds] = [make(), make(), make().fill(-1)]
  const starts: Array<number> = []
  rows.forEach((row, r) => {
    let at = r * width
    row.forEach((sequence, segment) => {
      starts.push(at)
      inputIds.set(sequence, at)
      positionIds.set(sequence.keys().toArray(), at)
      segmentIds.fill(segment, at, at + sequence.length)
      at += sequence.length
    })
  })
  return { rows: rows.length, width, inputIds, positionIds, segmentIds, starts }
}

/** What a graph is made of. */
type Graphed = Pick<Model.Model, "config" | "weights" | "adapter" | "layout">

const inputsOf = (graph: Graph, { layout }: Graphed) => ({
  ids: {
    inputIds: graph.input("input_ids", "int32", ["B", "T"]),
    positionIds: graph.input("position_ids", "int32", ["B", "T"]),
    segmentIds: graph.input("segment_ids", "int32", ["B", "T"])
  },
  parameters: new Map(layout.slots.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]))
})

const feedsOf = ({ layout }: Graphed, cells: Grid, parameters: Float32Array): Record<string, HostTensor> => {
  const shape = [cells.rows, cells.width]
  const int32 = (data: Int32Array): HostTensor => ({ dtype: "int32", shape, data })
  return {
    ...Object.fromEntries(
      layout.slots.map((slot) => [
        slot.name,
        { dtype: "float32" as const, shape: slot.shape, data: Parameters.view(parameters, slot) }
      ])
    ),
    input_ids: int32(cells.inputIds),
    position_ids: int32(cells.positionIds),
    segment_ids: int32(cells.segmentIds)
  }
}

/**
 * A decoder with logits of every position as output, its parameters an input each; from a grid to [rows * width, V].
 */
export const logitsOf = Effect.fnUntraced(function* (model: Graphed) {
  const executor = yield* Executor
  const graph = new Graph()
  const { ids, parameters } = inputsOf(graph, model)
  const built = Model.policy(model).build(graph, (name) => parameters.get(name), {
    ...ids,
    remat: false,
    attention: "rows"
  })
  graph.output("logits", Decoder.logits(graph, built, built.hidden))
  const program = yield* executor.load(toOnnx(graph))
  return Effect.fnUntraced(function* (cells: Grid, values: Float32Array) {
    const { host } = yield* program.run(feedsOf(model, cells, values))
    return host["logits"]!.data as Float32Array
  })
})

/** The gradient of Σ hidden² by every parameter, one after the other, and the number of nodes that compute it. */
export const gradientOf = Effect.fnUntraced(function* (
  model: Model.Model,
  cells: Grid,
  values: Float32Array,
  remat: boolean | Decoder.Remat
) {
  const executor = yield* Executor
  const graph = new Graph()
  const { ids, parameters } = inputsOf(graph, model)
  const { hidden } = Decoder.build(
    graph,
    model.config,
    Model.source(graph, model, (name) => parameters.get(name)),
    {
      ...ids,
      attention: Model.packedAttention(graph, ids.segmentIds, ids.positionIds),
      remat
    }
  )
  const gradients = grad(graph, graph.sum(graph.mul(hidden, hidden), [0, 1]), [...parameters.values()])
  const flat = gradients.map((gradient, i) => graph.reshape(gradient, [model.layout.slots[i]!.size]))
  graph.output("gradient", graph.concat(flat, 0))
  const program = yield* executor.load(toOnnx(graph))
  const { host } = yield* program.run(feedsOf(model, cells, values))
  return { gradient: host["gradient"]!.data as Float32Array, nodes: graph.nodes.length }
})
