/**
 * How a request is sampled: what it says, with the session's defaults where it says nothing and what the session
 * enforces above both.
 */
import { Equal, Hash } from "effect"
import type { ChatRequest, SamplingOptions } from "../../inference/backend/Inference.ts"
import type { SessionOptions } from "./Session.ts"

export interface Settled {
  readonly request: ChatRequest
  /** What the request said and the session enforces otherwise. */
  readonly overruled: ReadonlyArray<string>
}

/** `index`: of the request in its session. */
export const of = (
  asked: ChatRequest,
  { defaults = {}, enforced = {}, seed }: SessionOptions,
  index: number
): Settled => {
  const said: { readonly [option in keyof SamplingOptions]: unknown } = asked
  return {
    request: { ...(seed !== undefined && { seed: seedOf(seed, index) }), ...defaults, ...asked, ...enforced },
    overruled: (Object.keys(enforced) as ReadonlyArray<keyof SamplingOptions>).filter(
      (option) => said[option] !== undefined && !Equal.equals(said[option], enforced[option])
    )
  }
}

/** Far from those of other requests and sessions, and positive: 31 bits, as every server takes them. */
const seedOf = (seed: number, index: number): number => Hash.structure({ seed, index }) & 0x7fff_ffff
