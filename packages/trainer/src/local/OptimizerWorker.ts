/**
 * The thread of `OptimizerThread`: holds the parameters and the optimizer's state, and answers one command at a time.
 */
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

/** What a step may do otherwise than the optimizer was told at its start. */
export interface StepOptions extends Optimizer.Hyperparameters {
  readonly maxNorm: number | null
}

export type Command =
  /** Adds to the gradient of the step at hand; the first one becomes it. */
  | { readonly command: "accumulate"; readonly gradient: Float32Array }
  /** Forgets the gradient. */
  | { readonly command: "discard" }
  /** Makes the step with what was accumulated, unless its norm is not finite, and forgets it. */
  | { readonly command: "update"; readonly learningRate: number; readonly changes?: Partial<StepOptions> }
  | { readonly command: "parameters" }
  | { readonly command: "state" }

export interface Updated {
  /** Of the gradient as accumulated, before clipping. */
  readonly norm: number
  readonly isApplied: boolean
}

/** An update with which parameters ceased to be of use; nothing is to be asked of the thread after it. */
export interface Overflowed {
  readonly norm: number
  /** Of all parameters; NaN or infinite where one of them is, else more than `Optimizer.largestNorm`. */
  readonly parameterNorm: number
}

export type Reply =
  | { readonly reply: "done" }
  | ({ readonly reply: "updated" } & Updated)
  | ({ readonly reply: "overflowed" } & Overflowed)
  | { readonly reply: "parameters"; readonly parameters: Float32Array }
  | ({ readonly reply: "state"; readonly updates: number } & Vectors)

const { hyperparameters, maxNorm, parameters, spans, ...given } = workerData as Start
let state: Optimizer.State = given
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
  // So written that it is true of NaN too.
  if (!(parameterNorm <= Optimizer.largestNorm)) return { reply: "overflowed", norm, parameterNorm }
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
  // Copies made for this answer, each with memory of its own.
  Object.values(reply).flatMap((value: unknown) => (value instanceof Float32Array ? [value.buffer as ArrayBuffer] : []))

parentPort?.on("message", (command: Command) => {
  const reply = answer(command)
  parentPort?.postMessage(reply, buffersOf(reply))
})
