/**
 * Trains and samples a model on a Tinker server, in one session.
 *
 *     TinkerEngine.layer({ address, baseModel: "Qwen/Qwen3-8B", vocabSize, maxPositions, rank: 32, seed: 0 })
 *
 * provides `LearnerEngine` and `Engine`; samples use the weights that the learner published last.
 */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import { Context, Effect, Layer } from "effect"
import * as Engine from "../engine/Engine.ts"
import { Executor } from "../exec/Executor.ts"
import { LearnerEngine } from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as BuiltIn from "./BuiltIn.ts"
import type { Address } from "./client/Address.ts"
import type { Patience } from "./client/Patience.ts"
import * as Session from "./client/Session.ts"
import * as TrainedModel from "./client/TrainedModel.ts"
import { toTrainerError } from "./Failures.ts"
import * as Reduction from "./Reduction.ts"
import * as TinkerLearner from "./TinkerLearner.ts"
import * as TinkerSampler from "./TinkerSampler.ts"

export interface Options {
  readonly address: Address
  /** The model's name on the server, or a folder or hub id with that name. */
  readonly baseModel: string
  readonly tokenizer?: TokenizerIdentity
  readonly vocabSize: number
  /** Max sequence length of the model, tokens. */
  readonly maxPositions: number
  readonly rank: number
  readonly seed: number
  readonly patience?: Patience
}

const lastName = (name: string): string => name.split("/").findLast((part) => part !== "") ?? name

/** The server's model of that name; for a folder, of the folder's name. */
const supported = ({ models, server }: Session.Session, name: string) => {
  const trainable = models.filter(({ isTrainable }) => isTrainable)
  const found =
    trainable.find((model) => model.name === name) ?? trainable.find((model) => lastName(model.name) === lastName(name))
  return found === undefined
    ? Effect.fail(
        new TrainerError({
          reason: "settings",
          message: `${server} does not train ${name}; it has: ${trainable.map((model) => model.name).join(", ") || "no model"}`
        })
      )
    : Effect.succeed(found)
}

type Asked = Omit<Options, "address">

/** Runs probes on a temporary adapter. */
const asking = <A, E>(
  session: Session.Session,
  options: Asked,
  ask: (model: TrainedModel.TrainedModel) => Effect.Effect<A, E>
) =>
  Effect.acquireUseRelease(Effect.mapError(TrainedModel.make(session, options), toTrainerError), ask, (model) =>
    Effect.ignore(Effect.timeout(model.unload, "10 seconds"))
  )

const probed = Effect.fnUntraced(function* (session: Session.Session, options: Asked) {
  const reduction = yield* asking(session, options, (model) => Reduction.probe(session.server, model, options))
  const { server } = session
  if (!reduction.isProbed) {
    yield* Effect.logWarning("the server does not report the gradient norm; assuming that its losses are sums", {
      server
    })
  } else {
    yield* Effect.logInfo("determined the server's losses", { ...reduction, server })
  }
  return reduction
})

/** The server's loss, if it is exactly this one. */
const builtInFor = Effect.fnUntraced(function* (
  session: Session.Session,
  options: Asked,
  reduction: Reduction.Reduction,
  clipped: BuiltIn.Clipped
) {
  const { server } = session
  const builtIn = yield* asking(session, options, (model) =>
    Effect.mapError(BuiltIn.probe(model, options, reduction, clipped), toTrainerError)
  )
  yield* builtIn === undefined
    ? Effect.logInfo(`the server's ${clipped.name} differs from ours; computing the loss locally`, {
        ...clipped,
        server
      })
    : Effect.logInfo(`the server's ${clipped.name} equals ours; the server computes the loss`, {
        ...builtIn.divisors,
        server
      })
  return builtIn
})

export const make = Effect.fn("TinkerEngine.make")(function* (options: Options) {
  const { address, rank, seed } = options
  const executor = yield* Executor
  const session = yield* Effect.mapError(Session.make(address, options.patience), toTrainerError)
  const { maxContextLength, name: baseModel } = yield* supported(session, options.baseModel)
  const maxPositions = Math.min(options.maxPositions, maxContextLength ?? Infinity)
  const sampler = yield* TinkerSampler.make({
    session,
    modelName: options.baseModel,
    vocabSize: options.vocabSize,
    maxSequenceTokens: maxPositions
  })
  const learning = { session, baseModel, rank, seed }
  const settings = { ...options, baseModel, maxPositions }
  /** By name and bounds, so that a server is probed once. */
  const builtIns = new Map<string, BuiltIn.BuiltIn | undefined>()
  const reduction = yield* Effect.cached(probed(session, settings))
  return {
    session,
    engine: sampler.engine,
    learner: {
      name: session.server,
      model: {
        name: baseModel,
        vocabSize: options.vocabSize,
        maxPositions,
        ...(options.tokenizer && { tokenizer: options.tokenizer })
      },
      load: (loading) =>
        Effect.gen(function* () {
          yield* TinkerLearner.check(session.server, loading)
          const known = yield* reduction
          const clipped = known.isProbed ? BuiltIn.clippedOf(loading.objective) : undefined
          const key = JSON.stringify(clipped)
          if (clipped !== undefined && !builtIns.has(key)) {
            builtIns.set(key, yield* builtInFor(session, settings, known, clipped))
          }
          const builtIn = builtIns.get(key)
          const learner = { ...learning, reduction: known, builtIn, publish: sampler.switchTo }
          return yield* TinkerLearner.load(learner, loading)
        }).pipe(Effect.provideService(Executor, executor))
    } satisfies LearnerEngine["Service"]
  }
})

export const layer = (options: Options) =>
  Layer.effectContext(
    Effect.map(make(options), ({ engine, learner }) =>
      Context.make(LearnerEngine, LearnerEngine.of(learner)).pipe(Context.add(Engine.Engine, Engine.Engine.of(engine)))
    )
  )
