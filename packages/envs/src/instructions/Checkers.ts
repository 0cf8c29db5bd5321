/** Lists all checkers by name, and decodes constraints of rows and prompts. */
import { Effect, Result } from "effect"
import * as Case from "./Case.ts"
import * as Combination from "./Combination.ts"
import type { Checker, Constraint } from "./Constraint.ts"
import * as Content from "./Content.ts"
import * as Edges from "./Edges.ts"
import * as Format from "./Format.ts"
import * as Keywords from "./Keywords.ts"
import { language } from "./Language.ts"
import * as Length from "./Length.ts"

type Decode = Checker<never>["decode"]

export type Checkers = ReadonlyMap<string, Decode>

export const load: Effect.Effect<Checkers> = Effect.map(
  Effect.promise(() => import("franc-min")),
  ({ francAll }) =>
    new Map<string, Decode>(
      [
        ...Object.values({ ...Case, ...Combination, ...Content, ...Edges, ...Format, ...Keywords, ...Length }),
        language(francAll)
      ].map((one) => [one.name, one.decode])
    )
)

/**
 * The constraint of a row's `ground_truth`: `func_name` and its arguments (null: not given), or what is wrong with
 * them.
 */
export const decode = (
  checkers: Checkers,
  { func_name: name, ...args }: { readonly [name: string]: unknown }
): Result.Result<Constraint, string> => {
  const known = typeof name === "string" ? checkers.get(name) : undefined
  return known === undefined
    ? Result.fail(`unknown checker ${JSON.stringify(name)}; known: ${Array.from(checkers.keys()).join(", ")}`)
    : known(Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null)))
}
