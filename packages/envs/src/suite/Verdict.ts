/** Defines the input and the result of a score. */
import type { Environment, NotConfigured, ServerManager } from "@atropos/core"
import type * as Judge from "../kit/Judge.ts"
import type * as MathVerifier from "../verify/MathVerifier.ts"
import type * as Sandbox from "../sandbox/Sandbox.ts"
import type { Effect } from "effect"
import type { Item } from "./Item.ts"

/** A model's answer to an item, without its thinking. */
export interface Answer {
  /** The text of the last turn. */
  readonly text: string
  /** The text of each turn. */
  readonly turns: ReadonlyArray<string>
  readonly isCut: boolean
}

export interface Verdict {
  /** By name; the first is the score's own. */
  readonly values: { readonly [name: string]: number }
  /** The extracted answer; null if none. */
  readonly parsed: string | null
  /** For example a judge's response. */
  readonly notes?: { readonly [name: string]: unknown }
}

export type Judged = Pick<Item, "columns" | "gold" | "letters" | "question" | "references" | "texts" | "later">

/** One number, under the score's own name. */
export const one = (name: string, value: number, parsed: string | null | undefined): Verdict => ({
  values: { [name]: value },
  parsed: parsed ?? null
})

/** Failures of a judge, a verifier or a sandbox; an item that cannot be scored is `Unscorable`. */
export type Failure =
  | Environment.Unscorable
  | ServerManager.InferenceError
  | MathVerifier.MathVerifierError
  | Sandbox.SandboxError

export type Scorer = (item: Judged, answer: Answer) => Effect.Effect<Verdict, Failure>

/** A score, ready once its services are. */
export type Making = Effect.Effect<
  Scorer,
  NotConfigured.NotConfigured,
  Judge.Judge | MathVerifier.MathVerifier | Sandbox.Sandbox
>
