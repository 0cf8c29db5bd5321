/** Which of a session's answers have consequences. */
import type { Answer } from "./SessionTree.ts"

export const abandoned =
  "nothing went on from it, the same prompt was asked again afterwards, and the chat went on from that answer"

/**
 * Whether the client threw an answer away: nothing goes on from any choice of its request, and something does from the
 * answer to a later request of the same prompt, one that began when this answer was there.
 */
export const isAbandoned = <P, A>({ askedAt, cameAt, prompt }: Answer<P, A>): boolean =>
  prompt.answers.every((one) => one.askedAt !== askedAt || one.prompts.length === 0) &&
  prompt.answers.some((one) => one.askedAt > cameAt && one.prompts.length > 0)
