/**
 * Validates a tokenizer's files before the library builds tables from them: plausible ids, and patterns and templates
 * that terminate. A folder from the hub is untrusted.
 */
import { Predicate, Result } from "effect"
import * as Nesting from "../../base/json/Nesting.ts"
import * as TimeLimit from "../../base/TimeLimit.ts"

/** Max bytes of any file; today's largest vocabularies have 40 megabytes. */
export const maxBytes = 2 ** 28
/** Tables are as long as the largest id. */
const maxTokens = 2 ** 24
const mostLevels = 40
/** Time limit for trying a pattern or a template; a good one takes a thousandth of it. */
const trialMillis = 2000
const maxPromptLength = 2 ** 24

const isId = (id: unknown): boolean => Number.isInteger(id) && Number(id) >= 0 && Number(id) < maxTokens

const wrongId = (token: string, id: unknown): string =>
  `the token ${JSON.stringify(token.slice(0, 60))} has the id ${JSON.stringify(id)}; ids must be whole numbers from 0 to ${maxTokens - 1}`

/** All `{ "Regex": … }` of a file. */
const patternsIn = (value: unknown): ReadonlyArray<string> => {
  if (!Predicate.isObject(value)) return []
  const own = "Regex" in value && typeof value["Regex"] === "string" ? [value["Regex"]] : []
  return [...own, ...Object.values(value).flatMap(patternsIn)]
}

const quantifier = /^(?:[*+]|\{\d*,\d*\})/

/**
 * True if a repeated group contains repetition or alternatives: only such patterns can take exponential time. Linear in
 * the pattern.
 */
export const mayBacktrack = (pattern: string): boolean => {
  const groups = [false]
  let isInClass = false
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === "\\") at++
    else if (isInClass) isInClass = character !== "]"
    else if (character === "[") isInClass = true
    else if (character === "(") groups.push(false)
    else if (character === ")") {
      const isLoose = groups.pop() ?? false
      const isRepeated = quantifier.test(pattern.slice(at + 1, at + 12))
      if (isLoose && isRepeated) return true
      groups.push((groups.pop() ?? false) || isLoose || isRepeated)
    } else if (character === "|" || quantifier.test(pattern.slice(at, at + 12))) groups.push(groups.pop() !== undefined)
  }
  return false
}

/**
 * Short texts likely to be slow for a pattern: each of its characters repeated, alone and in pairs, followed by a
 * different one.
 */
const pumped = (pattern: string): ReadonlyArray<string> => {
  const named = [...new Set(Array.from(pattern))]
    .filter((character) => !"\\()[]{}*+?|^$".includes(character))
    .slice(0, 40)
  const characters = [...new Set([...named, "a", "A", "0", " ", "\n", ".", "é"])]
  const units = [...characters, ...characters.slice(1).map((character, at) => `${characters[at]}${character}`)]
  return units.flatMap((unit) => [`${unit.repeat(50)}\u0001`, `${unit.repeat(1500)}\u0001`])
}

/** Describes an error in the text of `tokenizer.json`, or returns its contents and the patterns to try. */
export const inspect = (
  text: string
): Result.Result<{ readonly json: object; readonly patterns: ReadonlyArray<string> }, string> => {
  if (Nesting.isDeep(text, mostLevels)) return Result.fail("tokenizer.json is nested too deeply")
  const json = Result.try((): unknown => JSON.parse(text))
  if (Result.isFailure(json) || !Predicate.isObject(json.success))
    return Result.fail("tokenizer.json is not a JSON object")
  const { added_tokens: added, model, ...rest } = json.success
  const vocabulary = Predicate.isObject(model) && "vocab" in model ? model["vocab"] : undefined
  if (Predicate.isObject(vocabulary) && !Array.isArray(vocabulary)) {
    for (const [token, id] of Object.entries(vocabulary)) {
      if (!isId(id)) return Result.fail(`tokenizer.json: ${wrongId(token, id)}`)
    }
  }
  for (const one of Array.isArray(added) ? added : []) {
    const id: unknown = Predicate.isObject(one) && "id" in one ? one["id"] : undefined
    const content = Predicate.isObject(one) && "content" in one ? String(one["content"]) : ""
    if (!isId(id)) return Result.fail(`tokenizer.json: ${wrongId(content, id)}`)
  }
  return Result.succeed({ json: json.success, patterns: patternsIn(rest).filter(mayBacktrack) })
}

/** The pattern on which a tokenizer does not terminate in time, of those that might not. */
export const endless = (patterns: ReadonlyArray<string>, encode: (text: string) => unknown): string | undefined =>
  patterns.find((pattern) => {
    const tried = Result.try(() =>
      TimeLimit.run(trialMillis, () => {
        for (const text of pumped(pattern)) encode(text)
      })
    )
    return Result.isFailure(tried) && tried.failure instanceof TimeLimit.TimeLimitError
  })

/** Renders a prompt with limits on time and length; errors describe what the template did. */
export const render = (make: () => unknown, millis: number): string => {
  const prompt = TimeLimit.run(millis, make)
  if (typeof prompt === "string" && prompt.length > maxPromptLength) {
    throw new RangeError(`it renders ${prompt.length} characters; the limit is ${maxPromptLength}`)
  }
  return String(prompt)
}

/** Why a template is unusable; a chat that it rejects in the trial is no such reason. */
export const templateFlaw = (make: () => unknown): string | undefined => {
  const tried = Result.try(() => render(make, trialMillis))
  if (Result.isSuccess(tried)) return undefined
  const { failure } = tried
  return failure instanceof TimeLimit.TimeLimitError || failure instanceof RangeError
    ? `it cannot render a one-word prompt: ${failure.message}`
    : undefined
}
