import { Duration } from "effect"
import type { Backend } from "./backend/Backend.ts"
import type { InferenceError, Split } from "./wire/Inference.ts"
import type { Server } from "./backend/ServerSettings.ts"
import * as SplitCapacity from "./SplitCapacity.ts"

/** Written only by `ServerPool` and its parts, except `ignoresN`. */
export interface InferenceServer {
  readonly backend: Backend
  readonly timeout: Duration.Duration
  readonly healthCheck: boolean
  readonly adaptsConcurrency: boolean
  /** Its load is being followed (`AdaptiveLimit`). */
  isWatched: boolean
  readonly splits: { readonly [S in Split]: SplitCapacity.SplitCapacity }
  /** The server returns one completion regardless of `n`. */
  ignoresN: boolean
  isUp: boolean
  /** Milliseconds since the epoch; meaningful only while not up. */
  downSince: number
  /** Failures since the last success. */
  strikes: number
  /** Times it went down plus failed probes, since the last success. */
  setbacks: number
  /** Nothing is sent before this time, in milliseconds since the epoch. */
  coolingUntil: number
  isCooling: boolean
  isProbed: boolean
  lastError: InferenceError | undefined
}

export interface InferenceServerSettings extends Pick<
  Server,
  | "timeout"
  | "healthCheck"
  | "nKwargIsIgnored"
  | "numMaxRequestsAtOnce"
  | "numRequestsForEval"
  | "adaptiveConcurrency"
  | "minRequestsAtOnce"
  | "rollingBufferLength"
> {
  readonly backend: Backend
}

/** Assumed healthy until a request fails. */
export const make = (settings: InferenceServerSettings): InferenceServer => {
  const { backend } = settings
  return {
    backend,
    timeout: Duration.seconds(settings.timeout),
    healthCheck: settings.healthCheck,
    adaptsConcurrency: settings.adaptiveConcurrency,
    isWatched: false,
    splits: {
      train: SplitCapacity.make(backend.server, "train", settings.numMaxRequestsAtOnce, settings),
      eval: SplitCapacity.make(backend.server, "eval", settings.numRequestsForEval, settings)
    },
    ignoresN: settings.nKwargIsIgnored,
    isUp: true,
    downSince: -Infinity,
    strikes: 0,
    setbacks: 0,
    coolingUntil: -Infinity,
    isCooling: false,
    isProbed: false,
    lastError: undefined
  }
}

/** The server with the most free capacity for a split; the first one on ties. */
export const leastLoaded = (servers: ReadonlyArray<InferenceServer>, split: Split): InferenceServer | undefined => {
  let best: InferenceServer | undefined
  for (const server of servers) {
    if (best === undefined || server.splits[split].free > best.splits[split].free) best = server
  }
  return best
}
