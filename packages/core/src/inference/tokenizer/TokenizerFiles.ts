/**
 * What a tokenizer's files may hold, looked at before the library makes tables of it: ids that a vocabulary can have,
 * and patterns and templates that come to an end. A folder from the hub is somebody else's program.
 */
import { Predicate, Result } from "effect"
import * as Nesting from "../../base/Nesting.ts"
import * as TimeLimit from "../../base/TimeLimit.ts"

/** Of any file; the largest vocabularies of today have 40 megabytes. */
export const mostBytes = 2 ** 28
/** Tables are as long as the largest id. */
const mostTokens = 2 ** 24
const mostLevels = 40
/** A try of a pattern or a template; a good one takes a thousandth of it. */
const trialMillis = 2000
/** Characters of a prompt. */
const longestPrompt = 2 ** 24

const isId = (id: unknown): boolean => Number.isInteger(id) && Number(id) >= 0 && Number(id) < mostTokens

const wrongId = (token: string, id: unknown): string =>
  `the token ${JSON.stringify(token.slice(0, 60))} has the id ${JSON.stringify(id)}; ids are whole numbers from 0 to ${mostTokens - 1}`

/** All `{ "Regex": … }` of a file. */
const patternsIn = (value: unknown): ReadonlyArray<string> => {
  if (!Predicate.isObject(value)) return []
  const own = "Regex" in value && typeof value["Regex"] === "string" ? [value["Regex"]] : []
  return [...own, ...Object.values(value).flatMap(patternsIn)]
}

const quantifier = /^(?:[*+]|\{\d*,\d*\})/

/**
 * Whether a group that repeats holds what repeats or chooses: only such patterns take exponential time. Linear in the
 * pattern.
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
 * Texts that a pattern is slow with if any short ones are: each of its characters over and over, alone and in pairs,
 * and then another one.
 */
const pumped = (pattern: string): ReadonlyArray<string> => {
  const named = [...new Set(Array.from(pattern))]
    .filter((character) => !"\\()[]{}*+?|^$".includes(character))
    .slice(0, 40)
  const characters = [...new Set([...named, "a", "A", "0", " ", "\n", ".", "é"])]
  const units = [...characters, ...characters.slice(1).map((character, at) => `${characters[at]}${character}`)]
  return units.flatMap((unit) => [`${unit.repeat(50)}\u0001`, `${unit.repeat(1500)}\u0001`])
}

/** What is wrong with the text of `tokenizer.json`, or what it holds and what of that has to be tried. */
export const inspect = (
  text: string
): Result.Result<{ readonly json: object; readonly patterns: ReadonlyArray<string> }, string> => {
  if (Nesting.isDeep(text, mostLevels)) return Result.fail("tokenizer.json is nested deeper than a tokenizer is")
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

/** The pattern that a tokenizer does not come to an end with, of those that may not. */
export const endless = (patterns: ReadonlyArray<string>, encode: (text: string) => unknown): string | undefined =>
  patterns.find((pattern) => {
    const tried = Result.try(() =>
      TimeLimit.run(trialMillis, () => {
        for (const text of pumped(pattern)) encode(text)
      })
    )
    return Result.isFailure(tried) && tried.failure instanceof TimeLimit.TimeLimitError
  })

/** A prompt, made within a limit of time and length; the errors say what the template did. */
export const render = (make: () => unknown, millis: number): string => {
  const prompt = TimeLimit.run(millis, make)
  if (typeof prompt === "string" && prompt.length > longestPrompt) {
    throw new RangeError(`it makes ${prompt.length} characters, and ${longestPrompt} are the most`)
  }
  return String(prompt)
}

/** Why a template cannot be used at all; what it refuses of the trial's chat it may take of another. */
export const templateFlaw = (make: () => unknown): string | undefined => {
  const tried = Result.try(() => render(make, trialMillis))
  if (Result.isSuccess(tried)) return undefined
  const { failure } = tried
  return failure instanceof TimeLimit.TimeLimitError || failure instanceof RangeError
    ? `it cannot make a prompt of one word: ${failure.message}`
    : undefined
}
