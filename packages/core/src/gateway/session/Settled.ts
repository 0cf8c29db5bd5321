/**
 * Resolves how a request is sampled: its own options, with the session's defaults for those it leaves out, and what the
 * session enforces above both. In a session with a seed, the seed of a request is mixed with it: runs that are compared
 * would otherwise all be the same run.
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
  const fixed: SamplingOptions = {
    ...(seed !== undefined && asked.seed !== undefined && { seed: seedOf({ seed, asked: asked.seed }) }),
    ...enforced
  }
  return {
    request: { ...(seed !== undefined && { seed: seedOf({ seed, index }) }), ...defaults, ...asked, ...fixed },
    overruled: (Object.keys(fixed) as ReadonlyArray<keyof SamplingOptions>).filter(
      (option) => said[option] !== undefined && !Equal.equals(said[option], fixed[option])
    )
  }
}

/** Far from those of other requests and sessions, and positive: 31 bits, as every server takes them. */
const seedOf = (parts: { readonly [part: string]: number }): number => Hash.structure(parts) & 0x7fff_ffff
