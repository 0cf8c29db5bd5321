/**
 * Learning engine on a Tinker server. Weights are an adapter on the server; a copy is a server path.
 *
 * Supports any objective of logprobs: a forward pass, the objective here (`HostObjective`), and a backward pass with
 * weights -dL/dlogprob (`Reduction`); or a single pass for the server's own losses (`BuiltIn`). An unused gradient is
 * discarded by saving the model and loading it as a new one.
 */
import { Effect, type Scope } from "effect"
import type { Executor } from "../exec/Executor.ts"
import * as HostObjective from "../learn/HostObjective.ts"
import {
  type Computed,
  defaultOptimizer,
  type Kept,
  type Learner,
  type LoadOptions,
  type LogprobCallback,
  type Updated
} from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import type { Session } from "./client/Session.ts"
import type { TinkerError } from "./client/TinkerError.ts"
import * as TrainedModel from "./client/TrainedModel.ts"
import * as BuiltIn from "./BuiltIn.ts"
import { lost, toTrainerError } from "./Failures.ts"
import * as Passes from "./Passes.ts"
import * as Probe from "./Probe.ts"
import type * as Reduction from "./Reduction.ts"
import * as TinkerData from "./TinkerData.ts"

export interface Options {
  readonly session: Session
  readonly baseModel: string
  readonly rank: number
  readonly seed: number
  readonly reduction: Reduction.Reduction
  readonly builtIn: BuiltIn.BuiltIn | undefined
  /** Publishes weights to samplers: a server path, and the version. */
  readonly publish: (path: string, version: number) => Effect.Effect<void, TinkerError>
}

const settings = (message: string) => new TrainerError({ reason: "settings", message })

/** Opens an adapter, unloaded with the scope; from a copy if given. */
const open = Effect.fnUntraced(function* ({ baseModel, rank, seed, session }: Options, from?: Kept, moments = false) {
  if (from !== undefined && from.reference.engine !== session.server) {
    return yield* settings(
      `the weights ${from.reference.path} are those of the engine ${from.reference.engine}, not of ${session.server}: ` +
        "continue with that engine, or use another save_path"
    )
  }
  const model = yield* lost(TrainedModel.make(session, { baseModel, rank, seed }))
  if (from !== undefined) {
    yield* Effect.mapError(model.loadWeights(from.reference.path, moments), (cause) =>
      cause.reason === "unavailable" || cause.reason === "unpaid"
        ? toTrainerError(cause)
        : new TrainerError({
            reason: "checkpoint",
            message: `${session.server} does not restore ${from.reference.path}: ${cause.message}`,
            cause
          })
    )
  }
  return model
})

type Rows = ReadonlyArray<Float32Array>

const areFinite = (rows: Rows): boolean => rows.every((row) => row.every(Number.isFinite))

const show = (look: LogprobCallback | undefined, logprobs: Rows): void => {
  if (look !== undefined) for (const [item, row] of logprobs.entries()) look(item, row)
}

const updated = (server: string, norm: number | undefined): Effect.Effect<Updated, TrainerError> =>
  norm === undefined || Number.isFinite(norm)
    ? Effect.succeed({ isApplied: true, norm })
    : Effect.fail(
        new TrainerError({ reason: "nonFinite", message: `${server} made a step with the gradient norm ${norm}` })
      )

/** Fails if logprobs are not enough for the objective. */
export const check = (server: string, { objective, routerReplay }: LoadOptions): Effect.Effect<void, TrainerError> => {
  if (routerReplay === true) {
    return Effect.fail(settings(`${server} does not support router_replay: remove it, or set engine: local`))
  }
  const because = HostObjective.problem(objective)
  return because === undefined
    ? Effect.void
    : Effect.fail(settings(`${server} returns only logprobs of the sampled tokens: ${because}`))
}

export const load = Effect.fn("TinkerLearner.load")(function* (
  options: Options,
  loading: LoadOptions
): Effect.fn.Return<Learner, TrainerError, Executor | Scope.Scope> {
  const { builtIn, publish, reduction, session } = options
  const { objective } = loading
  const { beta1, beta2, epsilon, maxNorm, weightDecay } = loading.optimizer ?? defaultOptimizer
  yield* check(session.server, loading)
  if (maxNorm !== null && !reduction.isClipping) {
    return yield* settings(`${session.server} does not clip gradients: set max_grad_norm to null`)
  }
  const host = yield* HostObjective.make(objective)
  const passes = Passes.make(session, reduction)
  const { from, initial } = loading
  let model = yield* from === undefined ? open(options, initial) : open(options, from, true)
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(model.unload, "10 seconds")))
  const reference = objective.needsReference ? yield* open(options, initial) : undefined
  if (reference !== undefined) {
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(reference.unload, "10 seconds")))
  }
  /** Gradient that was sent, completely or in part. */
  let pending: "none" | "whole" | "unknown" = "none"
  let names = 0
  const nameFor = (what: string, version: number) => `${what}-${version}-${++names}`

  /** Replaces the model with one with the same weights and moments but without the gradient. */
  const renew = Effect.gen(function* () {
    const path = yield* lost(model.saveWeights(nameFor("discarded", 0)))
    const old = model
    model = yield* open(options, { reference: { engine: session.server, path }, folder: "" }, true)
    pending = "none"
    yield* Effect.ignore(old.unload)
  })
  const clean = Effect.suspend(() => (pending === "none" ? Effect.void : renew))

  /** Logprobs under the reference policy, if sequences do not include them. */
  const referenceOf = Effect.fnUntraced(function* (batch: WeightedBatch) {
    const own = batch.items.map(({ length, sequence }) =>
      batch.sequences[sequence]!.refLogprobs?.subarray(1, length + 1)
    )
    if (reference === undefined || own.every((row) => row !== undefined)) return undefined
    const computed = yield* passes.logprobs(reference, batch)
    return own.map((row, item) => row ?? computed[item]!)
  })

  const evaluated = Effect.fnUntraced(function* (batch: WeightedBatch, logprobs: Rows, refLogprobs?: Rows) {
    const { figures, loss, slopes } = yield* host.evaluate(batch, logprobs, refLogprobs)
    const isFinite = Number.isFinite(loss) && areFinite(slopes)
    const positions = batch.items.reduce((sum, { length }) => sum + length, 0)
    const computed: Computed = { loss, figures, isFinite, microBatches: batch.items.length, positions }
    return { computed, slopes }
  })

  /**
   * In one pass, by a loss of the server; undefined, without a gradient, if it differed from ours at these logprobs.
   */
  const directly = Effect.fnUntraced(function* (batch: WeightedBatch, direct: BuiltIn.Direct, look?: LogprobCallback) {
    pending = "unknown"
    const logprobs = yield* passes.direct(model, direct)
    if (!direct.holds(logprobs)) {
      yield* renew
      return undefined
    }
    show(look, logprobs)
    const { computed } = yield* evaluated(batch, logprobs)
    if (computed.isFinite) pending = "whole"
    return computed
  })

  const forwardBackward: Learner["forwardBackward"] = Effect.fn("TinkerLearner.forwardBackward")(
    function* (batch, look) {
      yield* TinkerData.check(session.server, batch)
      yield* clean
      const isEmpty = batch.items.length === 0
      const direct = isEmpty ? undefined : BuiltIn.direct(batch, objective, reduction, builtIn)
      const done = direct && (yield* directly(batch, direct, look))
      if (done !== undefined) return done
      const logprobs = yield* passes.logprobs(model, batch)
      show(look, logprobs)
      const { computed, slopes } = yield* evaluated(batch, logprobs, yield* referenceOf(batch))
      if (computed.isFinite && !isEmpty) {
        pending = "unknown"
        yield* passes.backward(model, batch, logprobs, slopes)
        pending = "whole"
      }
      return computed
    }
  )

  const optimizerStep = Effect.fn("TinkerLearner.optimizerStep")(function* (learningRate: number) {
    if (pending !== "whole") {
      return yield* new TrainerError({ reason: "engine", message: "no gradient was computed for this step" })
    }
    const adam = { learningRate, beta1, beta2, eps: epsilon, weightDecay, gradClipNorm: maxNorm ?? 0 }
    const metrics = yield* lost(model.optimStep(adam))
    pending = "none"
    return yield* updated(session.server, Probe.normOf(metrics))
  })

  return {
    forward: (batch) =>
      Effect.andThen(
        TinkerData.check(session.server, batch),
        Effect.suspend(() => passes.logprobs(model, batch))
      ),
    forwardBackward,
    optimizerStep,
    discard: clean,
    save: (_, version) =>
      Effect.map(lost(Effect.suspend(() => model.saveWeights(nameFor("step", version)))), (path) => ({
        engine: session.server,
        path
      })),
    publish: (version) =>
      Effect.suspend(() => model.saveForSampler(nameFor("policy", version))).pipe(
        Effect.flatMap((path) => publish(path, version)),
        lost
      )
  } satisfies Learner
})
