/** Worker thread of `OptimizerThread`: holds the parameters and optimizer state, and answers one command at a time. */
import { parentPort, workerData } from "node:worker_threads"
import * as Optimizer from "./Optimizer.ts"

export interface Vectors {
  readonly parameters: Float32Array
  readonly firstMoment: Float32Array
  readonly secondMoment: Float32Array
}

export interface Start extends Vectors {
  readonly updates: number
  readonly spans: ReadonlyArray<Optimizer.Span>
  readonly hyperparameters: Optimizer.Hyperparameters
  readonly maxNorm: number | null
}

export interface StepOptions extends Optimizer.Hyperparameters {
  readonly maxNorm: number | null
}

export type Command =
  /** Adds to the current step's gradient; takes the first one as is. */
  | { readonly command: "accumulate"; readonly gradient: Float32Array }
  | { readonly command: "discard" }
  /** Makes the step with the accumulated gradient, unless its norm is not finite, then discards it. */
  | { readonly command: "update"; readonly learningRate: number; readonly changes?: Partial<StepOptions> }
  | { readonly command: "parameters" }
  | { readonly command: "state" }

export interface Updated {
  /** Norm of the accumulated gradient, before clipping. */
  readonly norm: number
  readonly isApplied: boolean
}

/** An update that made the parameters unusable; do not send commands after it. */
export interface Overflowed {
  readonly norm: number
  /** Norm of all parameters; NaN or infinite if one of them is, else above `Optimizer.maxFiniteNorm`. */
  readonly parameterNorm: number
}

export type Reply =
  | { readonly reply: "done" }
  | ({ readonly reply: "updated" } & Updated)
  | ({ readonly reply: "overflowed" } & Overflowed)
  | { readonly reply: "parameters"; readonly parameters: Float32Array }
  | ({ readonly reply: "state"; readonly updates: number } & Vectors)

const { hyperparameters, maxNorm, parameters, spans, ...input } = workerData as Start
let state: Optimizer.State = input
let gradient: Float32Array | undefined

const accumulate = (next: Float32Array): void => {
  if (gradient === undefined) {
    gradient = next
    return
  }
  for (let i = 0; i < next.length; i++) gradient[i]! += next[i]!
}

const update = (learningRate: number, changes: Partial<StepOptions> = {}): Reply => {
  const summed = gradient ?? new Float32Array(parameters.length)
  gradient = undefined
  const norm = Optimizer.norm(summed)
  if (!Number.isFinite(norm)) return { reply: "updated", norm, isApplied: false }
  const options = { ...hyperparameters, maxNorm, ...changes }
  const factor = Optimizer.clipFactor(norm, options.maxNorm)
  const { parameterNorm, ...stepped } = Optimizer.update(parameters, summed, state, spans, {
    ...options,
    learningRate,
    factor
  })
  state = stepped
  // Negated so that it also holds for NaN.
  if (!(parameterNorm <= Optimizer.maxFiniteNorm)) return { reply: "overflowed", norm, parameterNorm }
  return { reply: "updated", norm, isApplied: true }
}

const answer = (command: Command): Reply => {
  switch (command.command) {
    case "accumulate":
      accumulate(command.gradient)
      return { reply: "done" }
    case "discard":
      gradient = undefined
      return { reply: "done" }
    case "update":
      return update(command.learningRate, command.changes)
    case "parameters":
      return { reply: "parameters", parameters: parameters.slice() }
    case "state":
      return {
        reply: "state",
        parameters: parameters.slice(),
        firstMoment: state.firstMoment.slice(),
        secondMoment: state.secondMoment.slice(),
        updates: state.updates
      }
  }
}

const buffersOf = (reply: Reply): Array<ArrayBuffer> =>
  // Copies made for this answer, each with its own buffer.
  Object.values(reply).flatMap((value: unknown) => (value instanceof Float32Array ? [value.buffer as ArrayBuffer] : []))

parentPort?.on("message", (command: Command) => {
  const reply = answer(command)
  parentPort?.postMessage(reply, buffersOf(reply))
})
