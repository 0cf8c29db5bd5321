import { Duration } from "effect"
import type { Backend } from "./backend/Backend.ts"
import type { InferenceError, Split } from "./backend/Inference.ts"
import type { Server } from "./backend/ServerSettings.ts"
import * as Lane from "./Lane.ts"

/** Written only by `Fleet` and its parts, except `ignoresN`. */
export interface Member {
  readonly backend: Backend
  readonly timeout: Duration.Duration
  readonly healthCheck: boolean
  readonly lanes: { readonly [S in Split]: Lane.Lane }
  /** The server returns one completion whatever `n` is. */
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

export interface MemberSettings extends Pick<
  Server,
  "timeout" | "healthCheck" | "nKwargIsIgnored" | "numMaxRequestsAtOnce" | "numRequestsForEval" | "rollingBufferLength"
> {
  readonly backend: Backend
}

/** Assumed healthy until a request fails. */
export const make = (settings: MemberSettings): Member => {
  const { backend, rollingBufferLength } = settings
  return {
    backend,
    timeout: Duration.seconds(settings.timeout),
    healthCheck: settings.healthCheck,
    lanes: {
      train: Lane.make(backend.server, "train", settings.numMaxRequestsAtOnce, rollingBufferLength),
      eval: Lane.make(backend.server, "eval", settings.numRequestsForEval, rollingBufferLength)
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

/** The member with the most capacity in a lane; the first one on ties. */
export const mostRoom = (members: ReadonlyArray<Member>, split: Split): Member | undefined => {
  let best: Member | undefined
  for (const member of members) {
    if (best === undefined || member.lanes[split].room > best.lanes[split].room) best = member
  }
  return best
}
