/**
 * Finds the prompt of a group: the messages given to its rollouts before the first answer of the policy. Pure; used by
 * the service, over files and in browsers.
 *
 * The mask distinguishes the policy's messages from example answers: it wrote as many as there are trained spans, the
 * last ones. Without any trained token, the first assistant message ends the prompt. The prompt is the common prefix of
 * the rollouts, without an identical answer of all.
 */
import { isFields } from "./Fields.ts"

/** Number of trained spans: masks have -100 for untrained, or zeros and ones. */
const spansOf = (mask: ArrayLike<number>): number => {
  let isBinary = true
  for (let t = 0; t < mask.length && isBinary; t++) isBinary = mask[t] === 0 || mask[t] === 1
  const untrained = isBinary ? 0 : -100
  let spans = 0
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] !== untrained && (t === 0 || mask[t - 1] === untrained)) spans++
  }
  return spans
}

/** Messages of a chat before the policy's first answer, by its own mask; all of them without an answer. */
const promptLengthIn = (chat: ReadonlyArray<unknown>, spans: number): number => {
  const answers = chat.flatMap((message, place) =>
    isFields(message) && message["role"] === "assistant" ? [place] : []
  )
  return answers[spans === 0 ? 0 : Math.max(0, answers.length - spans)] ?? chat.length
}

const isRow = (value: unknown): value is ArrayLike<number> => Array.isArray(value) || ArrayBuffer.isView(value)

/** Number of leading messages that form the prompt; `masks` are the sequences' own, in the same order. */
export const lengthOf = (chats: ReadonlyArray<ReadonlyArray<unknown>>, masks: unknown): number => {
  const [first] = chats
  if (first === undefined) return 0
  const rows: ReadonlyArray<unknown> = Array.isArray(masks) ? masks : []
  const spans = chats.map((_, place) => (isRow(rows[place]) ? spansOf(rows[place]) : 0))
  // A fully masked sequence is not evidence about its chat if another has a mask.
  const telling = spans.some((count) => count > 0) ? chats.filter((_, place) => spans[place]! > 0) : chats
  const counts = spans.some((count) => count > 0) ? spans.filter((count) => count > 0) : spans
  const promptLength = Math.min(...telling.map((chat, place) => promptLengthIn(chat, counts[place]!)))
  for (let place = 0; place < promptLength; place++) {
    const text = JSON.stringify(first[place])
    if (chats.some((chat) => JSON.stringify(chat[place]) !== text)) return place
  }
  return promptLength
}
