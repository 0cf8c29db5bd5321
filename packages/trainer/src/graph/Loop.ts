/**
 * Adds a loop to a graph (ONNX `Loop`, https://onnx.ai/onnx/operators/onnx__Loop.html): a body that runs a number of
 * times determined at runtime. Not differentiable: use it within `customGradient`.
 */
import type { Dim } from "./Dim.ts"
import { Graph } from "./Graph.ts"
import type { Body, Value } from "./Value.ts"

export interface Options {
  /** int64 [] */
  readonly count: Value
  /** Its symbol in shapes. */
  readonly symbol: Dim
  readonly captured: ReadonlyArray<Value>
  readonly initial: ReadonlyArray<Value>
}

/** Inputs of one iteration. All are values of the body's own graph. */
export interface Run {
  readonly graph: Graph
  /** int64 [], from 0. */
  readonly iteration: Value
  readonly captured: ReadonlyArray<Value>
  readonly carried: ReadonlyArray<Value>
}

export interface Results {
  /** For the next iteration, as many as the initial ones. */
  readonly carried: ReadonlyArray<Value>
  /** Collected over iterations, along a new first axis. */
  readonly stacked: ReadonlyArray<Value>
}

/** Names in a body must differ from those of enclosing graphs; sibling bodies may share names. */
const prefix = "body/"

/** Runs a body `count` times. It may use the graph's sizes, and those it defines itself. */
export const loop = (
  graph: Graph,
  { captured, count, initial, symbol }: Options,
  build: (run: Run) => Results
): Results => {
  const inner = new Graph(graph.real, prefix)
  const input = (name: string, { dtype, shape }: Pick<Value, "dtype" | "shape">) =>
    inner.input(`${prefix}${name}`, dtype, shape)
  const iteration = input("iteration", { dtype: "int64", shape: [] })
  const goesOn = input("goes_on", { dtype: "bool", shape: [] })
  const carried = initial.map((value, i) => input(`carried_${i}`, value))
  const formal = inner.inputs.slice()
  const seen = captured.map((value, i) => input(`captured_${i}`, value))
  const results = build({ graph: inner, iteration, captured: seen, carried })
  graph.require(
    results.carried.length === initial.length,
    "Loop",
    results.carried,
    "must return the types it was given"
  )
  inner.output(`${prefix}goes_on_out`, goesOn)
  results.carried.forEach((value, i) => inner.output(`${prefix}carried_out_${i}`, value))
  results.stacked.forEach((value, i) => inner.output(`${prefix}stacked_${i}`, value))
  const body: Body = {
    inputs: formal,
    outputs: inner.outputs,
    initializers: inner.initializers,
    nodes: inner.nodes,
    symbols: inner.symbols,
    captured: seen
  }
  const outputs = graph.multi(
    "Loop",
    [count, undefined, ...initial, ...captured],
    [
      ...initial.map(({ dtype, shape }) => ({ dtype, shape })),
      ...results.stacked.map(({ dtype, shape }) => ({ dtype, shape: [symbol, ...shape] }))
    ],
    { body: { body } }
  )
  return { carried: outputs.slice(0, initial.length), stacked: outputs.slice(initial.length) }
}
