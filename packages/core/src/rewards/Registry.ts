/**
 * Rewards by name, for configuration files: `"format"`, or `{ type: "format", weight: 2, params: { preferred_tags: ["plan"] } }`.
 *
 * The original's spellings (`accuracyx`, `repetition_penalty`, …) are the same name: case and underscores do not count.
 */
import { String } from "effect"
import type { MathVerifier, MathVerifierError } from "../verify/MathVerifier.ts"
import { accuracy, accuracyX, cascadingR1Math, r1 } from "./Accuracy.ts"
import { chandasMeter, type Metre } from "./ChandasMeter.ts"
import { crosswordFormat, format, formatReasoning } from "./Format.ts"
import { reasoningSteps } from "./ReasoningSteps.ts"
import { repetitionPenalty } from "./Repetition.ts"
import { type Reward, weighted } from "./Reward.ts"

type Params = { readonly [name: string]: unknown }

// Parameters come from configuration; each constructor reads the ones it knows and has a default for the rest.
const constructors: { readonly [name: string]: (params: Params) => Reward<MathVerifierError, MathVerifier> } = {
  accuracy,
  accuracy_x: accuracyX,
  cascading_r1_math: cascadingR1Math,
  chandas_meter: ({ meter }) => chandasMeter(meter as Metre | undefined),
  crossword_format: crosswordFormat,
  format,
  format_reasoning: formatReasoning,
  r1,
  reasoning_steps: reasoningSteps,
  repetition_penalty: repetitionPenalty
}

/** Names that `create` knows. */
export const names: ReadonlyArray<string> = Object.keys(constructors)

const key = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("_", "")
    .replace(/reward$/, "")
const byKey = new Map(Object.entries(constructors).map(([name, constructor]) => [key(name), constructor]))

/** A reward by name. Throws for a name that is not registered: configuration is checked at start. */
export const create = (
  spec: string | { readonly type: string; readonly weight?: number; readonly params?: Params }
): Reward<MathVerifierError, MathVerifier> => {
  const { params = {}, type, weight = 1 } = typeof spec === "string" ? { type: spec } : spec
  const constructor = byKey.get(key(type))
  if (constructor === undefined)
    throw new Error(`no reward is called ${JSON.stringify(type)}; there are ${names.join(", ")}`)
  const named = Object.fromEntries(Object.entries(params).map(([name, value]) => [String.snakeToCamel(name), value]))
  return weighted(constructor(named), weight)
}
