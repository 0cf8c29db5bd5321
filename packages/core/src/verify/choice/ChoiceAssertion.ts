/** What a clause may say of choices. */
import type { Clauses } from "./ChoiceClause.ts"
import type { Named } from "./ChoiceTokens.ts"

/** How it is said: as the answer, as what is so, or by nothing but its name. */
export type Strength = "announced" | "stated" | "alone"

export interface Claim {
  /** The place of the choice. */
  readonly place: number
  readonly strength: Strength
}

/** That a choice is the answer. */
export interface Assertion extends Claim {
  readonly _tag: "claim"
  readonly isFinal: boolean
  readonly next: number
}
/** That it may be one of several. */
interface Hedge {
  readonly _tag: "hedge"
  readonly next: number
}
/** That it is none of these. */
interface Denial {
  readonly _tag: "denial"
  readonly places: ReadonlyArray<number>
  readonly next: number
}
/** That what was said is not so. */
interface Retraction {
  readonly _tag: "retraction"
  readonly next: number
}
export type Statement = Assertion | Hedge | Denial | Retraction

/** Asserts the one choice that is named; a hedge where there are several, nothing where what follows takes it back. */
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
    return holds(next) ? { _tag: "claim", place, strength, isFinal, next } : undefined
  }
