/** Finds which of a session's answers were used. */
import type { Answer } from "./SessionTree.ts"

export const abandoned =
  "nothing went on from it, the same prompt was asked again afterwards, and the chat went on from that answer"

/**
 * True if the client discarded an answer: no choice of its request is continued, while the answer to a later request of
 * the same prompt is; that request began after this answer had arrived.
 */
export const isAbandoned = <P, A>({ askedAt, cameAt, prompt }: Answer<P, A>): boolean =>
  prompt.answers.every((one) => one.askedAt !== askedAt || one.prompts.length === 0) &&
  prompt.answers.some((one) => one.askedAt > cameAt && one.prompts.length > 0)
