/**
 * Rewards for the format of a completion: tags, a single think block, crossword answers.
 *
 * Source: format_reward.py, r1_reward.py and crossword_format_reward.py of the original.
 */
import * as Reward from "./Reward.ts"

/** 1 if any (or all) of the tags enclose something: `<think>…</think>`. */
export const format = ({
  caseSensitive = false,
  preferredTags = ["think", "answer"],
  requireAllTags = false
}: {
  readonly preferredTags?: ReadonlyArray<string>
  readonly requireAllTags?: boolean
  readonly caseSensitive?: boolean
} = {}): Reward.Reward => {
  const fold = (text: string): string => (caseSensitive ? text : text.toLowerCase())
  return Reward.make("format", (completion) => {
    const text = fold(completion)
    const encloses = (tag: string): boolean => {
      const start = text.indexOf(fold(`<${tag}>`))
      return start !== -1 && text.includes(fold(`</${tag}>`), start + tag.length + 2)
    }
    return (requireAllTags ? preferredTags.every(encloses) : preferredTags.some(encloses)) ? 1 : 0
  })
}

/**
 * A completion split at its think block. Without exactly one block, `thinking` is empty and `response` the whole text.
 */
export interface Reasoned {
  readonly thinking: string
  readonly response: string
  readonly hasSeveralBlocks: boolean
}

const open = "<think>"
const close = "</think>"

export const splitReasoning = (completion: string): Reasoned => {
  const none = (hasSeveralBlocks: boolean): Reasoned => ({ thinking: "", response: completion, hasSeveralBlocks })
  const start = completion.indexOf(open)
  const end = start === -1 ? -1 : completion.indexOf(close, start + open.length)
  if (end === -1) return none(false)
  const after = end + close.length
  const next = completion.indexOf(open, after)
  if (next !== -1 && completion.includes(close, next + open.length)) return none(true)
  return {
    thinking: completion.slice(start + open.length, end).trim(),
    response: completion.slice(after).trim(),
    hasSeveralBlocks: false
  }
}

/** `rewardValue` if there is exactly one non-empty think block followed by text. */
export const formatReasoning = ({ rewardValue = 0.5 }: { readonly rewardValue?: number } = {}): Reward.Reward =>
  Reward.make("format_reasoning", (completion) => {
    const { hasSeveralBlocks, response, thinking } = splitReasoning(completion)
    return thinking !== "" && response !== "" && !hasSeveralBlocks ? rewardValue : 0
  })

// Matching one digit before the dash is equivalent to several, and avoids retries at each of them.
const crosswordPattern = /\d-(?:Across|Down):\s[A-Z\s]/i
const crosswordAnswer = /\d-(?:Across|Down):\s+([^\s,]+)/gi
const lettersOnly = /^[a-z]+$/i

/**
 * `rewardValue` if there is an answer like `1-Across: WORD`. `strict` also rejects answers with anything except letters
 * (`HEL1O`), which the original intends but does not do.
 */
export const crosswordFormat = ({
  rewardValue = 1,
  strict = false
}: { readonly rewardValue?: number; readonly strict?: boolean } = {}): Reward.Reward =>
  Reward.make("crossword_format", (completion) => {
    const isClean = () =>
      Array.from(completion.matchAll(crosswordAnswer), (match) => match[1]!).every((answer) => lettersOnly.test(answer))
    return crosswordPattern.test(completion) && (!strict || isClean()) ? rewardValue : 0
  })
