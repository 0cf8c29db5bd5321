/** Finds which of a session's answers were used. */
import type { Answer } from "./SessionTree.ts"

export const abandoned = "abandoned: the same prompt was requested again, and the chat continued from the other answer"

/**
 * True if the client discarded an answer: no choice of its request is continued, while the answer to a later request of
 * the same prompt is; that request began after this answer had arrived.
 */
export const isAbandoned = <P, A>({ askedAt, cameAt, prompt }: Answer<P, A>): boolean =>
  prompt.answers.every((one) => one.askedAt !== askedAt || one.prompts.length === 0) &&
  prompt.answers.some((one) => one.askedAt > cameAt && one.prompts.length > 0)
