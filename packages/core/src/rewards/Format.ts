/**
 * Rewards for the shape of a completion: tags, a single think block, crossword answers.
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
  const patterns = preferredTags.map((tag) => {
    const name = RegExp.escape(tag)
    return new RegExp(`<${name}>.*?</${name}>`, caseSensitive ? "s" : "is")
  })
  return Reward.make("format", (completion) => {
    const found = (pattern: RegExp) => pattern.test(completion)
    return (requireAllTags ? patterns.every(found) : patterns.some(found)) ? 1 : 0
  })
}

/** A completion split at its think block. Without exactly one block, `thinking` is empty and `response` the whole text. */
export interface Reasoned {
  readonly thinking: string
  readonly response: string
  readonly hasSeveralBlocks: boolean
}

const thinkBlock = /<think>.*?<\/think>/gs
const thinkThenResponse = /<think>\s*(.*?)\s*<\/think>\s*(.*)/s

export const splitReasoning = (completion: string): Reasoned => {
  if ((completion.match(thinkBlock) ?? []).length > 1) {
    return { thinking: "", response: completion, hasSeveralBlocks: true }
  }
  const match = thinkThenResponse.exec(completion)
  return match === null
    ? { thinking: "", response: completion, hasSeveralBlocks: false }
    : { thinking: match[1]!.trim(), response: match[2]!.trim(), hasSeveralBlocks: false }
}

/** `rewardValue` if there is exactly one think block with something in it and something after it. */
export const formatReasoning = ({ rewardValue = 0.5 }: { readonly rewardValue?: number } = {}): Reward.Reward =>
  Reward.make("format_reasoning", (completion) => {
    const { hasSeveralBlocks, response, thinking } = splitReasoning(completion)
    return thinking !== "" && response !== "" && !hasSeveralBlocks ? rewardValue : 0
  })

const crosswordPattern = /\d+-(?:Across|Down):\s+[A-Z\s]+/i
const crosswordAnswer = /\d+-(?:Across|Down):\s+([^\s,]+)/gi
const lettersOnly = /^[a-z]+$/i

/**
 * `rewardValue` if there is an answer like `1-Across: WORD`. `strict` also refuses answers with anything but letters (`HEL1O`), which the
 * original means to and does not.
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
