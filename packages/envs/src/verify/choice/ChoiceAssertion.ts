/** Defines the possible statements of a clause about choices. */
import type { Clauses } from "./ChoiceClause.ts"
import type { Named } from "./ChoiceTokens.ts"

/** Strength of a statement: announced as the answer, stated as a fact, or only named. */
export type Strength = "announced" | "stated" | "alone"

export interface Claim {
  readonly place: number
  readonly strength: Strength
}

/** A choice is the answer. */
export interface Assertion extends Claim {
  readonly _tag: "claim"
  readonly isFinal: boolean
  readonly next: number
}
/** It may be one of several. */
interface Hedge {
  readonly _tag: "hedge"
  readonly next: number
}
/** Not one of these. */
interface Denial {
  readonly _tag: "denial"
  readonly places: ReadonlyArray<number>
  readonly next: number
}
/** The previous statement is wrong. */
interface Retraction {
  readonly _tag: "retraction"
  readonly next: number
}
export type Statement = Assertion | Hedge | Denial | Retraction

/** Asserts the one named choice; a hedge if there are several, nothing if the following text takes it back. */
export type Assert = ReturnType<typeof assertion>

export const assertion =
  ({ holds }: Pick<Clauses, "holds">) =>
  (
    { places, next }: Named,
    strength: Strength,
    { isFinal = false, isEither = false }: { readonly isFinal?: boolean; readonly isEither?: boolean } = {}
  ): Statement | undefined => {
    const [place, ...more] = places
    if (place === undefined || more.length > 0 || isEither) return { _tag: "hedge", next }
    return holds(next, strength !== "alone") ? { _tag: "claim", place, strength, isFinal, next } : undefined
  }
