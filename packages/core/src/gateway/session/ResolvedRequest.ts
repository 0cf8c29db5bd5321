/**
 * Resolves how a request is sampled: its own options, the session's defaults for missing ones, and the session's
 * enforced ones above both. With a session seed, a request's seed is mixed with it, so that compared runs are not
 * identical.
 */
import { Equal, Hash } from "effect"
import type { ChatRequest, SamplingOptions } from "../../inference/wire/Inference.ts"
import type { SessionOptions } from "./Session.ts"

export interface ResolvedRequest {
  readonly request: ChatRequest
  readonly overridden: ReadonlyArray<string>
}

/** `index`: of the request in its session. */
export const of = (
  request: ChatRequest,
  { defaults = {}, enforced = {}, seed }: SessionOptions,
  index: number
): ResolvedRequest => {
  const values: { readonly [option in keyof SamplingOptions]: unknown } = request
  const fixed: SamplingOptions = {
    ...(seed !== undefined && request.seed !== undefined && { seed: seedOf({ seed, asked: request.seed }) }),
    ...enforced
  }
  return {
    request: { ...(seed !== undefined && { seed: seedOf({ seed, index }) }), ...defaults, ...request, ...fixed },
    overridden: (Object.keys(fixed) as ReadonlyArray<keyof SamplingOptions>).filter(
      (option) => values[option] !== undefined && !Equal.equals(values[option], fixed[option])
    )
  }
}

/** Well distributed over requests and sessions, and positive: 31 bits, which every server accepts. */
const seedOf = (parts: { readonly [part: string]: number }): number => Hash.structure(parts) & 0x7fff_ffff
