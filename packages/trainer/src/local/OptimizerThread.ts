/**
 * Runs the trained parameters and their optimizer in a separate thread, so that steps never block the event loop.
 *
 * Gradients are transferred (the caller's array is empty afterwards), and so are copies of the parameters. Commands run
 * in order. A submitted command is awaited even by a fiber that is being interrupted.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Effect, type Scope, Semaphore } from "effect"
import type { Command, Overflowed, Reply, Start, StepOptions, Updated, Vectors } from "./OptimizerWorker.ts"
import * as Optimizer from "./Optimizer.ts"
import type { Layout } from "../model/Parameters.ts"
import { TrainerError } from "../learn/TrainerError.ts"

export type { Updated }

/** Parameters, moments and update count: the full state for resuming. */
export interface Snapshot extends Vectors {
  readonly updates: number
}

export interface OptimizerThread {
  /** Adds a micro-batch's gradient to the step's. Takes ownership of the array's memory. */
  readonly accumulate: (gradient: Float32Array) => Effect.Effect<void, TrainerError>
  readonly discard: Effect.Effect<void, TrainerError>
  /**
   * Clips the norm and makes the step; a NaN or infinite gradient changes nothing. Fails with `nonFinite` if the
   * parameters become unusable; so does every later request, so that they never get out. `changes` apply to this step
   * only.
   */
  readonly update: (learningRate: number, changes?: Partial<StepOptions>) => Effect.Effect<Updated, TrainerError>
  /** A copy. */
  readonly parameters: Effect.Effect<Float32Array, TrainerError>
  /** A copy. */
  readonly snapshot: Effect.Effect<Snapshot, TrainerError>
}

export interface Options extends Optimizer.Hyperparameters {
  readonly layout: Layout
  /** Max gradient norm; null: no limit. */
  readonly maxNorm: number | null
}

const workerUrl = Thread.fileBeside(import.meta.url, "OptimizerWorker")

const dead = (message: string, cause?: unknown) =>
  new TrainerError({ reason: "thread", message: `the optimizer's thread ${message}`, cause })

const overflow = (learningRate: number, { norm, parameterNorm }: Overflowed) =>
  new TrainerError({
    reason: "nonFinite",
    message:
      `the update produced unusable weights (their norm is ${parameterNorm.toPrecision(3)}, ` +
      `single precision squares up to ${Optimizer.maxFiniteNorm.toPrecision(3)}): ` +
      `lr ${Number(learningRate.toPrecision(4))}, gradient norm ${Number(norm.toPrecision(4))}`
  })

const unexpected = (reply: Reply, kind: Reply["reply"]) =>
  Effect.die(new Error(`the optimizer's thread answered ${reply.reply} instead of ${kind}`))

const ownBuffer = (values: Float32Array): Float32Array<ArrayBuffer> =>
  // Only whole, unshared buffers can be transferred: a view into a larger one is copied first.
  values.buffer instanceof ArrayBuffer && values.byteLength === values.buffer.byteLength
    ? (values as Float32Array<ArrayBuffer>)
    : Float32Array.from(values)

export const fresh = (parameters: Float32Array): Snapshot => ({
  parameters: parameters.slice(),
  ...Optimizer.init(parameters.length)
})

const start = (initial: Snapshot, { layout, maxNorm, ...hyperparameters }: Options) => {
  const { firstMoment, parameters, secondMoment, updates } = initial
  const vectors = {
    parameters: ownBuffer(parameters),
    firstMoment: ownBuffer(firstMoment),
    secondMoment: ownBuffer(secondMoment)
  }
  const { beta1, beta2, epsilon, weightDecay } = hyperparameters
  const workerData: Start = {
    ...vectors,
    updates,
    spans: Optimizer.spans(layout),
    hyperparameters: { beta1, beta2, epsilon, weightDecay },
    maxNorm
  }
  return Thread.start<Command, Reply>(workerUrl, {
    workerData,
    transferList: [vectors.parameters.buffer, vectors.firstMoment.buffer, vectors.secondMoment.buffer],
    name: "optimizer"
  })
}

/** Starts the thread; takes ownership of `initial`'s memory. It ends with the scope. */
export const make = Effect.fn("OptimizerThread.make")(function* (
  initial: Snapshot,
  options: Options
): Effect.fn.Return<OptimizerThread, TrainerError, Scope.Scope> {
  const lock = yield* Semaphore.make(1)
  let failure: TrainerError | undefined
  const thread = yield* Effect.mapError(start(initial, options), (error) => dead("cannot be started", error.cause))
  // The thread keeps the process alive only while a request is pending.
  thread.keepsProcess(false)

  const ask = (command: Command, transfer?: ReadonlyArray<ArrayBuffer>): Effect.Effect<Reply, TrainerError> =>
    Effect.suspend(() => {
      if (failure !== undefined) return Effect.fail(failure)
      thread.keepsProcess(true)
      return thread.ask(command, transfer).pipe(
        Effect.mapError((error) => (error.reason === "exited" ? dead("has ended") : dead("failed", error.cause))),
        Effect.ensuring(Effect.sync(() => thread.keepsProcess(false)))
      )
    }).pipe(Effect.uninterruptible, lock.withPermits(1))

  /** Narrows the reply to the expected type; no other is possible. */
  const expect = <R extends Reply["reply"]>(kind: R, command: Command) =>
    Effect.flatMap(ask(command), (reply) =>
      reply.reply === kind ? Effect.succeed(reply as Extract<Reply, { readonly reply: R }>) : unexpected(reply, kind)
    )

  return {
    accumulate: (gradient) =>
      Effect.suspend(() => {
        const own = ownBuffer(gradient)
        return Effect.asVoid(ask({ command: "accumulate", gradient: own }, [own.buffer]))
      }),
    discard: Effect.asVoid(ask({ command: "discard" })),
    update: (learningRate, changes = {}) =>
      Effect.flatMap(ask({ command: "update", learningRate, changes }), (reply) => {
        if (reply.reply === "overflowed") return Effect.fail((failure = overflow(learningRate, reply)))
        if (reply.reply !== "updated") return unexpected(reply, "updated")
        return Effect.succeed({ isApplied: reply.isApplied, norm: reply.norm })
      }),
    parameters: Effect.map(expect("parameters", { command: "parameters" }), ({ parameters }) => parameters),
    snapshot: Effect.map(
      expect("state", { command: "state" }),
      ({ firstMoment, parameters, secondMoment, updates }) => ({ firstMoment, parameters, secondMoment, updates })
    )
  }
})
