/**
 * Manages sampling sessions: the weights to sample from, by client-visible id.
 *
 * Weights are the base model's, a checkpoint's, or a model's at the time it was asked for a sampling session; the
 * latter are on disk for the life of the session, or until unused for some time.
 */
import { Clock, Effect, Result } from "effect"
import type { Shape as Engine } from "../../engine/Engine.ts"
import type { Model } from "../../model/Model.ts"
import type * as Sampling from "../protocol/Sampling.ts"
import * as Adapters from "./Adapters.ts"
import * as CheckpointFolder from "./CheckpointFolder.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import { notFound, type OperationFailed, Refused } from "./Failures.ts"
import * as Policies from "./Policies.ts"
import * as SampleRequests from "./SampleRequests.ts"

export type Source =
  | { readonly from: "base" }
  | { readonly from: "checkpoint"; readonly saved: CheckpointFolder.Saved }
  | { readonly from: "snapshot"; readonly folder: string; readonly model: Adapters.Adapted }

export interface SamplingSession {
  readonly id: string
  readonly session: string
  readonly source: Source
  readonly modelPath: string | undefined
  usedAt: number
}

export interface Options {
  readonly base: Model
  readonly engine: Engine
  readonly checkpoints: CheckpointFolder.CheckpointFolder
  /** The largest adapter that fits the sampler's graph. */
  readonly widest: Adapters.Adapted
  readonly endTokenIds: ReadonlyArray<number>
  readonly maxPolicies: number
  readonly maxSequenceTokens: number
  /** Max completions running or waiting. */
  readonly maxSamples: number
}

const nameOf = (source: Source): string => {
  switch (source.from) {
    case "base":
      return Policies.base
    case "checkpoint":
      return `${CheckpointPath.of(source.saved)}@${source.saved.info.created}`
    case "snapshot":
      return source.folder
  }
}

export const make = Effect.fnUntraced(function* (options: Options) {
  const { checkpoints, engine, widest } = options
  const policies = yield* Policies.make(engine, options.maxPolicies)
  const ask = SampleRequests.asker(engine, options.base.tokenizer)
  const sessions = new Map<string, SamplingSession>()
  let unanswered = 0

  const weightsOf = (source: Source): Effect.Effect<Float32Array, OperationFailed> => {
    switch (source.from) {
      case "base":
        return Effect.succeed(new Float32Array(widest.layout.size))
      case "checkpoint":
        return Effect.map(checkpoints.readWeights(source.saved), ({ model, parameters }) =>
          Adapters.widen(model, parameters, widest)
        )
      case "snapshot":
        return Effect.map(checkpoints.readSnapshot(source.folder, source.model), (parameters) =>
          Adapters.widen(source.model, parameters, widest)
        )
    }
  }

  const sessionOf = (id: string): Effect.Effect<SamplingSession, Refused> =>
    Effect.gen(function* () {
      const found = sessions.get(id)
      if (found === undefined) {
        return yield* notFound(`sampling session not found: ${id}; its session ended, or the server was restarted`)
      }
      found.usedAt = yield* Clock.currentTimeMillis
      return found
    })

  const drop = (session: SamplingSession) =>
    Effect.gen(function* () {
      sessions.delete(session.id)
      if (session.source.from !== "snapshot") return
      yield* policies.release(nameOf(session.source))
      yield* checkpoints.removeSnapshot(session.source.folder)
    })

  return {
    sessionOf,
    has: (id: string) => sessions.has(id),
    ofSession: (session: string) => [...sessions.values()].filter((one) => one.session === session),
    open: Effect.fnUntraced(function* (id: string, session: string, source: Source, modelPath: string | undefined) {
      sessions.set(id, { id, session, source, modelPath, usedAt: yield* Clock.currentTimeMillis })
    }),
    /** The weights of a path or a base model's name; a checkpoint must be of this base model. */
    sourceOf: Effect.fnUntraced(function* (modelPath: string | null | undefined): Effect.fn.Return<Source, Refused> {
      if (modelPath === undefined || modelPath === null) return { from: "base" }
      const address = CheckpointPath.parse(modelPath)
      if (address === undefined) {
        return yield* new Refused({
          status: 400,
          message: `${modelPath} is not a path of weights, for example tinker://<model>/sampler_weights/<name>`
        })
      }
      const saved = yield* checkpoints.find(address)
      const adapted = yield* Effect.result(checkpoints.adaptedOf(saved))
      if (Result.isFailure(adapted)) return yield* new Refused({ status: 400, message: adapted.failure.message })
      if (adapted.success.kind.rank > widest.kind.rank) {
        return yield* new Refused({
          status: 400,
          message: `${modelPath} has the rank ${adapted.success.kind.rank}; this server samples from ranks up to ${widest.kind.rank}`
        })
      }
      return { from: "checkpoint", saved }
    }),
    /** Counts the completions of a request until it is answered; undefined if there are too many. */
    admit: (count: number) => {
      if (unanswered > 0 && unanswered + count > options.maxSamples) return undefined
      unanswered += count
      return Effect.sync(() => {
        unanswered -= count
      })
    },
    answer: (sample: Sampling.Sample, source: Source) =>
      Effect.flatMap(SampleRequests.read(sample, options), (request) =>
        policies.use(nameOf(source), weightsOf(source), ask({ ...request, policy: nameOf(source) }, sample))
      ),
    endSession: (session: string) =>
      Effect.forEach(
        [...sessions.values()].filter((one) => one.session === session),
        drop,
        { discard: true }
      ),
    /** Drops weights of sampling sessions that were unused for this long. */
    sweep: (unusedMillis: number) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const session of sessions.values()) {
          if (session.source.from === "snapshot" && now - session.usedAt > unusedMillis) yield* drop(session)
        }
      })
  }
})

export type Samplers = Effect.Success<ReturnType<typeof make>>
