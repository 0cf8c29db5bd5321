/** Validates a request before it is queued: ranges of fields, token ids, length. */
import { Effect } from "effect"
import { type GenerateRequest, InvalidRequest, PromptTooLong, type ScoreRequest } from "./EngineRequests.ts"

export interface RequestLimits {
  readonly vocabulary: number
  /** Prompt and completion together. */
  readonly maxSequenceTokens: number
}

type Rule = readonly [field: string, holds: boolean, expected: string]

const check = (rules: ReadonlyArray<Rule>): Effect.Effect<void, InvalidRequest> => {
  const broken = rules.find(([, holds]) => !holds)
  if (broken === undefined) return Effect.void
  return Effect.fail(new InvalidRequest({ field: broken[0], message: `${broken[0]} must be ${broken[2]}` }))
}

const isPositiveInteger = (n: number) => Number.isSafeInteger(n) && n > 0

const promptRules = (prompt: ReadonlyArray<number>, { vocabulary }: RequestLimits): ReadonlyArray<Rule> => {
  const foreign = prompt.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary)
  return [
    ["promptTokens", prompt.length > 0, "at least one token"],
    ["promptTokens", foreign === undefined, `token ids below ${vocabulary}, not ${foreign}`]
  ]
}

const alternativesRule = (top: number | undefined): Rule => [
  "topLogprobs",
  top === undefined || (Number.isInteger(top) && top >= 0),
  "a whole number, 0 or more"
]

/** Same limits as OpenAI. */
const maxPenalty = 2
const maxBias = 100

const adjustingRules = (request: GenerateRequest, { vocabulary }: RequestLimits): ReadonlyArray<Rule> => {
  const { frequencyPenalty = 0, logitBias = {}, presencePenalty = 0, repetitionPenalty = 1 } = request
  const isToken = (id: string) => /^\d+$/.test(id) && Number(id) < vocabulary
  const foreign = Object.keys(logitBias).find((id) => !isToken(id))
  return [
    ["repetitionPenalty", Number.isFinite(repetitionPenalty) && repetitionPenalty > 0, "a number above 0; 1 is off"],
    ["presencePenalty", Math.abs(presencePenalty) <= maxPenalty, `from -${maxPenalty} to ${maxPenalty}`],
    ["frequencyPenalty", Math.abs(frequencyPenalty) <= maxPenalty, `from -${maxPenalty} to ${maxPenalty}`],
    ["logitBias", foreign === undefined, `by token ids below ${vocabulary}, not ${JSON.stringify(foreign)}`],
    [
      "logitBias",
      Object.values(logitBias).every((bias) => Math.abs(bias) <= maxBias),
      `of numbers from -${maxBias} to ${maxBias}`
    ]
  ]
}

/** Below it, logits divided by the temperature may exceed float32. */
const minTemperature = 1e-6
const isTemperature = (temperature: number): boolean => Number.isFinite(temperature) && temperature >= minTemperature

const checkLength = (
  promptTokens: number,
  maxTokens: number,
  limitTokens: number
): Effect.Effect<void, PromptTooLong> =>
  promptTokens + maxTokens <= limitTokens
    ? Effect.void
    : Effect.fail(new PromptTooLong({ promptTokens, maxTokens, limitTokens }))

export const checkGenerate = (
  request: GenerateRequest,
  limits: RequestLimits
): Effect.Effect<void, InvalidRequest | PromptTooLong> => {
  const { maxTokens, minP = 0, n, promptTokens, seed, temperature, topK, topLogprobs, topP } = request
  const { schema, stopTokenIds } = request
  return check([
    ...promptRules(promptTokens, limits),
    ["n", isPositiveInteger(n), "a whole number, 1 or more"],
    ["maxTokens", isPositiveInteger(maxTokens), "a whole number, 1 or more"],
    ["temperature", temperature === 0 || isTemperature(temperature), `0, or a number from ${minTemperature} up`],
    ["topP", topP > 0 && topP <= 1, "above 0, and at most 1"],
    ["topK", Number.isSafeInteger(topK) && topK >= 0, "a whole number; 0 for all tokens"],
    ["minP", minP >= 0 && minP <= 1, "from 0 to 1"],
    ...adjustingRules(request, limits),
    [
      "stopTokenIds",
      schema === undefined || stopTokenIds.length > 0,
      "at least one token that ends an answer to a schema"
    ],
    ["seed", seed === undefined || Number.isSafeInteger(seed), "a whole number below 2^53"],
    alternativesRule(topLogprobs)
  ]).pipe(Effect.andThen(checkLength(promptTokens.length, maxTokens, limits.maxSequenceTokens)))
}

export const checkScore = (
  { promptTokens, temperature = 1, topLogprobs }: ScoreRequest,
  limits: RequestLimits
): Effect.Effect<void, InvalidRequest | PromptTooLong> =>
  check([
    ...promptRules(promptTokens, limits),
    ["temperature", isTemperature(temperature), `a number from ${minTemperature} up`],
    alternativesRule(topLogprobs)
  ]).pipe(Effect.andThen(checkLength(promptTokens.length, 0, limits.maxSequenceTokens)))
