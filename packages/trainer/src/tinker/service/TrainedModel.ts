/**
 * A model in training: an adapter with its optimizer, on the shared base model.
 *
 * Gradients accumulate over forward_backward calls until the next step. If one of them failed, the next step fails too,
 * states the reason, and discards the gradient. The caller runs operations one at a time.
 */
import { Effect, Exit, Scope } from "effect"
import type { DeviceTensor } from "../../exec/Executor.ts"
import * as OptimizerThread from "../../local/OptimizerThread.ts"
import * as FBResult from "../protocol/ForwardBackwardResult.ts"
import * as Tensor from "../protocol/Tensor.ts"
import type { Adapted } from "./Adapters.ts"
import type { Item } from "./Data.ts"
import { broken, OperationFailed, wrong } from "./Failures.ts"
import type { Graphs } from "./Graphs.ts"
import type { Loss } from "./Losses.ts"
import * as Rows from "./Rows.ts"

export interface StepSettings {
  readonly learningRate: number
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
  /** Max gradient norm; null: no limit. */
  readonly maxNorm: number | null
}

export interface TrainedModel {
  readonly model: Adapted
  readonly forward: (data: ReadonlyArray<Item>, loss: Loss) => Effect.Effect<FBResult.Result, OperationFailed>
  readonly forwardBackward: (data: ReadonlyArray<Item>, loss: Loss) => Effect.Effect<FBResult.Result, OperationFailed>
  /** Marks the gradient as invalid because a forward_backward failed earlier. */
  readonly spoil: (reason: string) => void
  readonly optimStep: (settings: StepSettings) => Effect.Effect<{ readonly norm: number }, OperationFailed>
  /** A copy. */
  readonly snapshot: Effect.Effect<OptimizerThread.Snapshot, OperationFailed>
  /** Resumes from a snapshot; takes ownership of its memory. Gradients are discarded. */
  readonly restore: (snapshot: OptimizerThread.Snapshot) => Effect.Effect<void, OperationFailed>
}

const start = broken("the optimizer")

const optimizerOf = (model: Adapted, snapshot: OptimizerThread.Snapshot) =>
  OptimizerThread.make(snapshot, {
    layout: model.layout,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-12,
    weightDecay: 0,
    maxNorm: null
  })

/** Loss of every token from the computed logprobs, and their sum. */
const resultOf = (data: ReadonlyArray<Item>, loss: Loss, logprobs: ReadonlyArray<Float32Array>): FBResult.Result => {
  let sum = 0
  const outputs = data.map(({ advantages, oldLogprobs, weights }, item) => {
    const ofItem = logprobs[item]!
    const elementwise = ofItem.map((logprob, t) => {
      const inputs = { logprob, oldLogprob: oldLogprobs[t]!, advantage: advantages[t]!, weight: weights[t]! }
      const ofToken = loss.ofToken(inputs)
      sum += ofToken
      return ofToken
    })
    return new Map([
      ["logprobs", Tensor.row(ofItem)],
      ["elementwise_loss", Tensor.row(elementwise)]
    ])
  })
  return { kind: "TorchLossReturn", outputs, metrics: new Map([["loss:sum", sum]]) }
}

const notFinite = wrong("the loss is NaN or infinite: the weights have diverged, or a weight or advantage is too large")

export const make = Effect.fnUntraced(function* (
  graphs: Graphs,
  model: Adapted,
  initial: OptimizerThread.Snapshot
): Effect.fn.Return<TrainedModel, OperationFailed, Scope.Scope> {
  const owner = yield* Effect.scope
  let scope = yield* Scope.fork(owner)
  const open = (snapshot: OptimizerThread.Snapshot, into: Scope.Closeable) =>
    Effect.mapError(Scope.provide(optimizerOf(model, snapshot), into), start)
  let optimizer = yield* open(initial, scope)
  /** The parameters on the executor; undefined if the optimizer has newer ones. */
  let theta: DeviceTensor | undefined
  let spoiled: string | undefined

  const parameters = Effect.suspend(() => Effect.mapError(optimizer.parameters, start))
  const present = Effect.suspend(() =>
    theta === undefined
      ? Effect.map(Effect.flatMap(parameters, graphs.put), (resident) => (theta = resident))
      : Effect.succeed(theta)
  )
  const outdate = Effect.suspend(() => {
    const old = theta
    theta = undefined
    return old === undefined ? Effect.void : graphs.free(old)
  })
  yield* Effect.addFinalizer(() => outdate)

  const computed = Effect.fnUntraced(function* (
    data: ReadonlyArray<Item>,
    loss: Loss,
    compute: (rows: Rows.Rows, theta: DeviceTensor) => Effect.Effect<Float32Array, OperationFailed>
  ) {
    const logprobs: Array<Float32Array> = []
    const resident = yield* present
    for (const rows of Rows.pack(data, loss.isPolicyGradient, graphs.packing)) {
      const ofRows = yield* compute(rows, resident)
      for (const { at, item, length } of rows.placed) logprobs[item] = ofRows.slice(at, at + length)
    }
    const result = resultOf(data, loss, logprobs)
    return Number.isFinite(result.metrics.get("loss:sum")!) ? result : yield* notFinite
  })

  const forwardBackward = (data: ReadonlyArray<Item>, loss: Loss) =>
    computed(
      data,
      loss,
      Effect.fnUntraced(function* ({ microBatch }, resident) {
        const { gradient, logprobs } = yield* graphs.gradient(model, loss, microBatch, resident)
        yield* Effect.mapError(optimizer.accumulate(gradient), start)
        return logprobs
      })
    ).pipe(
      graphs.turn,
      Effect.tapError(({ message }) => Effect.sync(() => (spoiled ??= message)))
    )

  const optimStep = Effect.fnUntraced(function* ({ learningRate, ...changes }: StepSettings) {
    const reason = spoiled
    spoiled = undefined
    if (reason !== undefined) {
      yield* Effect.mapError(optimizer.discard, start)
      return yield* wrong(
        `no step was made: a forward_backward since the last one failed (${reason}). The gradients are discarded: ` +
          "compute them again"
      )
    }
    const { isApplied, norm } = yield* Effect.mapError(optimizer.update(learningRate, changes), start)
    if (!isApplied) return yield* wrong(`no step was made: the gradient's norm is ${norm}`)
    yield* outdate
    return { norm }
  })

  return {
    model,
    forward: (data, loss) =>
      graphs.turn(computed(data, loss, ({ microBatch }, resident) => graphs.logprobs(model, microBatch, resident))),
    forwardBackward,
    spoil: (reason) => {
      spoiled ??= reason
    },
    optimStep: (settings) => Effect.uninterruptible(optimStep(settings)),
    snapshot: Effect.suspend(() => Effect.mapError(optimizer.snapshot, start)),
    restore: Effect.fnUntraced(function* (snapshot) {
      const next = yield* Scope.fork(owner)
      const opened = yield* open(snapshot, next)
      const old = scope
      optimizer = opened
      scope = next
      spoiled = undefined
      yield* outdate
      yield* Scope.close(old, Exit.void)
    }, Effect.uninterruptible)
  }
})
