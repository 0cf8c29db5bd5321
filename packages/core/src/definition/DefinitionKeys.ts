/**
 * Rejects unknown keys in a definition, by type and again at run time: a misspelt key would otherwise be ignored
 * silently.
 */
import { Effect, Predicate } from "effect"
import type { Definition, EvaluationDefinition } from "./Definition.ts"
import type { DefinitionFault } from "./EnvironmentError.ts"
import type { TestableClaims, Untestable } from "./Laws.ts"
import { kindOf, wrong } from "./UserCode.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import { hint } from "../base/Nearest.ts"

type Known = {
  readonly [K in keyof Definition<unknown, unknown, never>]-?: K extends "evaluation"
    ? keyof EvaluationDefinition<unknown, unknown, never>
    : K extends "components"
      ? keyof RewardComponents.Rule
      : K extends "claims"
        ? keyof TestableClaims<unknown> | keyof Untestable
        : K extends "state"
          ? "save" | "restore"
          : PropertyKey
}

/** Type that rejects unknown keys of a definition. */
export type OnlyKnown<D> = {
  readonly [K in Exclude<keyof D, keyof Known>]: `${K & string} is not a key of a definition`
} & {
  readonly [K in "evaluation" | "claims" | "state" as K extends keyof D ? K : never]?: K extends keyof D
    ? { readonly [L in Exclude<keyof NonNullable<D[K]>, Known[K]>]: `${L & string} is not a key of ${K}` }
    : never
}

type Keys<T> = { readonly [K in keyof Required<T>]: "function" | "other" }

const definition: Keys<Definition<unknown, unknown, never>> = {
  items: "function",
  collectTrajectories: "function",
  score: "function",
  components: "other",
  afterScore: "function",
  evaluation: "other",
  isCorrect: "function",
  metrics: "other",
  state: "other",
  requeued: "other",
  id: "function",
  label: "function",
  scoresPerEpisode: "other",
  cannotRescore: "other",
  claims: "other"
}

const evaluation: Keys<EvaluationDefinition<unknown, unknown, never>> = {
  items: "other",
  collectTrajectories: "function",
  isCorrect: "function"
}

const claims: Keys<TestableClaims<unknown> & Untestable> = {
  gold: "function",
  wrong: "function",
  scoreRange: "other",
  untestable: "other",
  sample: "function"
}

const components: Keys<RewardComponents.Rule> = { weights: "other", base: "other" }

const state: Keys<NonNullable<Definition<unknown, unknown, never>["state"]>> = { save: "other", restore: "function" }

/** The fault in the keys of a part, or undefined. */
const faultIn = (
  part: string,
  input: unknown,
  known: { readonly [name: string]: "function" | "other" },
  needed: ReadonlyArray<string>
): DefinitionFault | undefined => {
  if (!Predicate.isObject(input)) return wrong(part, `must be an object, got ${kindOf(input)}`)
  const names = Object.keys(known)
  const unknown = Object.keys(input).find((key) => !names.includes(key))
  if (unknown !== undefined) {
    const named = hint(unknown, names)
    return wrong(part, `has an unknown key "${unknown}"${named === "" ? `; it may have ${names.join(", ")}` : named}`)
  }
  const values: { readonly [name: string]: unknown } = { ...input }
  const missing = needed.find((key) => values[key] === undefined)
  if (missing !== undefined) return wrong(part, `has no ${missing}`)
  const unfit = names.find(
    (key) => known[key] === "function" && values[key] !== undefined && typeof values[key] !== "function"
  )
  return unfit === undefined ? undefined : wrong(part, `has ${kindOf(values[unfit])} as ${unfit}; expected a function`)
}

const faultInRule = (input: unknown): DefinitionFault | undefined => {
  const fault = faultIn("components", input, components, ["weights"])
  if (fault !== undefined || !Predicate.isReadonlyObject(input)) return fault
  const odd = RewardComponents.faultOf(input["weights"])
  if (odd !== undefined) return wrong("components.weights", `is not a valid rule: ${odd}`)
  const { base = 0 } = input
  return typeof base === "number" ? undefined : wrong("components.base", `must be a number, got ${kindOf(base)}`)
}

/** Fails if a definition has unknown keys or lacks required ones. */
export const check = (input: {
  readonly evaluation?: unknown
  readonly claims?: unknown
  readonly components?: unknown
  readonly state?: unknown
}): Effect.Effect<void, DefinitionFault> =>
  Effect.suspend(() => {
    const fault =
      faultIn("the definition", input, definition, ["items", "collectTrajectories"]) ??
      (input.evaluation === undefined
        ? undefined
        : faultIn("evaluation", input.evaluation, evaluation, ["items", "collectTrajectories"])) ??
      (input.claims === undefined ? undefined : faultIn("claims", input.claims, claims, [])) ??
      (input.components === undefined ? undefined : faultInRule(input.components)) ??
      (input.state === undefined ? undefined : faultIn("state", input.state, state, ["save", "restore"]))
    return fault === undefined ? Effect.void : Effect.fail(fault)
  })
