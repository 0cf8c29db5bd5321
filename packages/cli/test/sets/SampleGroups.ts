/**
 * Groups of the byte tokenizer for the tests of data sets: sums, answered well and badly, as an environment would save
 * them.
 */
import { type Message, type ScoredGroup, Tokenizer, WireGroup } from "@atropos/core"

const { applyChatTemplate, encode } = Tokenizer.bytes

export interface SequenceSpec {
  readonly chat: ReadonlyArray<Message.Message>
  readonly score: number
}

/** Tokens and masks of a chat whose assistant messages behind the first `given` messages were sampled. */
const tokensOf = (chat: ReadonlyArray<Message.Message>, given: number) => {
  const tokens: Array<number> = []
  const masks: Array<number> = []
  chat.forEach((message, index) => {
    const isSampled = index >= given && message.role === "assistant"
    const opening = encode(`<|im_start|>${message.role}\n`)
    const text = encode(applyChatTemplate([message], { addGenerationPrompt: false })).slice(opening.length)
    tokens.push(...opening, ...text)
    masks.push(...opening.map(() => 0), ...text.map(() => (isSampled ? 1 : 0)))
  })
  return { tokens: Int32Array.from(tokens), masks: Uint8Array.from(masks) }
}

/** A group of chats that share their first `given` messages. */
export const group = (given: number, sequences: ReadonlyArray<SequenceSpec>): ScoredGroup.ScoredGroup => {
  const made = sequences.map(({ chat }) => tokensOf(chat, given))
  return {
    tokens: made.map(({ tokens }) => tokens),
    masks: made.map(({ masks }) => masks),
    scores: Float64Array.from(sequences.map(({ score }) => score)),
    messages: sequences.map(({ chat }) => chat)
  }
}

/** "What is n + n?" with answers of falling quality: scores 1, 0.5, 0, -1 and so on. */
export const sum = (
  n: number,
  answers: ReadonlyArray<readonly [answer: string, score: number]>
): ScoredGroup.ScoredGroup =>
  group(
    2,
    answers.map(([answer, score]) => ({
      score,
      chat: [
        { role: "system", content: "Answer briefly." },
        { role: "user", content: `What is ${n} + ${n}?` },
        { role: "assistant", content: answer }
      ]
    }))
  )

/** Groups of four with right and wrong answers, a line each. */
export const lines = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, index) => {
    const n = from + index
    return `${WireGroup.encode(
      sum(n, [
        [`It is ${2 * n}.`, 1],
        [`Perhaps ${2 * n}? Größe 🙂`, 0.5],
        ["I do not know.", 0],
        [`It is ${2 * n + 1}.`, -1]
      ])
    )}\n`
  }).join("")
