/**
 * Reverse-mode differentiation: adds the nodes of the backward pass to the graph.
 *
 * Visits the steps of the forward pass in reverse; each maps the gradients of its outputs to those of its inputs by its
 * rule (`Rules.ts`, or its own if built by `customGradient`). Only emits what the requested gradients need.
 */
import type { Graph } from "./Graph.ts"
import { isFloat } from "./DType.ts"
import { GradientError } from "./GraphError.ts"
import { type Pieces, run } from "../base/Pieces.ts"
import * as Recompute from "./Recompute.ts"
import { zeros } from "./Rule.ts"
import { rules } from "./Rules.ts"
import type { CustomStep, Step } from "./Step.ts"
import { showType, type Value } from "./Value.ts"

/** Steps between two yields. */
const stepsAPiece = 500

/**
 * Gradients of a scalar loss with respect to each of `wrt`, of the same shapes; zeros if the loss does not depend on
 * one. No gradient passes the values of `stop`, nor those of `stopGradient`.
 */
export const grad = (
  g: Graph,
  loss: Value,
  wrt: ReadonlyArray<Value>,
  stop: ReadonlySet<Value> = new Set()
): ReadonlyArray<Value> => run(gradPieces(g, loss, wrt, stop))

/** Like `grad`, in steps that yield to the event loop. */
export function* gradPieces(
  g: Graph,
  loss: Value,
  wrt: ReadonlyArray<Value>,
  stop: ReadonlySet<Value> = new Set()
): Pieces<ReadonlyArray<Value>> {
  g.require(loss.shape.length === 0 && isFloat(loss.dtype), "grad", [loss], "the loss must be a real scalar")
  const steps = g.steps.slice()
  const active = activeValues(g, steps, wrt, stop)
  const recompute = Recompute.make(g)
  const kept = new Set(wrt)
  const gradients = new Map<Value, Value>([[loss, g.scalar(1, loss.dtype)]])
  for (const [index, step] of steps.toReversed().entries()) {
    if (index % stepsAPiece === 0) yield
    const dys = step.outputs.map((output) => gradients.get(output))
    const first = dys.find((dy) => dy !== undefined)
    if (first === undefined || !step.inputs.some((input) => input !== undefined && active.has(input))) continue
    const recall = (value: Value) => recompute.recall(value, step.segment, first)
    inputGradients(g, step, dys, active, recall).forEach((dx, i) => {
      const input = step.inputs[i]
      if (dx === undefined || input === undefined || !active.has(input)) return
      const others = gradients.get(input)
      const own = g.sumTo(dx, input.shape)
      const sum = others === undefined ? own : g.add(others, own)
      gradients.set(input, sum)
      recompute.passed(step.segment, input, sum)
    })
    for (const output of step.outputs) if (!kept.has(output)) gradients.delete(output)
  }
  return wrt.map((value) => gradients.get(value) ?? zeros(g, value, value.shape))
}

const activeValues = (
  g: Graph,
  steps: ReadonlyArray<Step>,
  wrt: ReadonlyArray<Value>,
  stop: ReadonlySet<Value>
): ReadonlySet<Value> => {
  const active = new Set(wrt)
  for (const step of steps) {
    if (step.op === "CustomGradient" && "nodes" in step) refuseHidden(step, active)
    if (!step.inputs.some((input) => input !== undefined && active.has(input))) continue
    for (const output of step.outputs) {
      if (isFloat(output.dtype) && !stop.has(output) && !g.stopped.has(output)) active.add(output)
    }
  }
  return active
}

/**
 * A custom gradient only covers its declared inputs: a parameter used inside but not declared would silently not be
 * trained.
 */
const refuseHidden = (step: CustomStep, active: ReadonlySet<Value>): void => {
  for (const { inputs } of step.nodes) {
    for (const input of inputs) {
      if (input === undefined || !active.has(input) || step.inputs.includes(input)) continue
      const reason = `${input.name} is used inside and needs a gradient, but is not among the inputs`
      throw new GradientError({ op: step.op, value: step.outputs[0]!.name, reason })
    }
  }
}

const inputGradients = (
  g: Graph,
  step: Step,
  dys: ReadonlyArray<Value | undefined>,
  active: ReadonlySet<Value>,
  recall: (value: Value) => Value
): ReadonlyArray<Value | undefined> => {
  const needs = (i: number) => step.inputs[i] !== undefined && active.has(step.inputs[i])
  if ("backward" in step) {
    const gradients = step.backward(dys, { needs, recall })
    g.require(gradients.length === step.inputs.length, step.op, gradients, "must be one gradient per input")
    return gradients
  }
  const rule = rules[step.op]
  if (rule === undefined || step.domain !== "") {
    throw new GradientError({ op: step.op, value: step.outputs[0]!.name, reason: "it has no gradient rule" })
  }
  const dyOf = (i: number) => dys[i] ?? zeros(g, step.outputs[i]!, step.outputs[i]!.shape)
  const source = (i: number): Value => {
    const input = step.inputs[i]
    if (input !== undefined) return input
    throw new GradientError({ op: step.op, value: step.outputs[0]!.name, reason: `its input ${i} is missing` })
  }
  const emitters = rule({
    g,
    node: step,
    dy: dyOf(0),
    dyOf,
    x: (i) => recall(source(i)),
    y: () => recall(step.outputs[0]!),
    shape: (i) => source(i).shape
  })
  return step.inputs.map((input, i) => {
    const emit = emitters[i]
    if (!needs(i) || emit === undefined) return undefined
    const gradient = emit()
    g.require(gradient.dtype === input?.dtype, step.op, [input, gradient], `gradient of ${showType(input)}`)
    return gradient
  })
}
