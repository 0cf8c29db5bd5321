/**
 * Keeps the groups of a step-wise rollout (a game, say) within the token limit by forgetting old turns.
 *
 * Follows the original's `ensure_trajectory_token_limit` (atroposlib/utils/message_history_utils.py): the oldest
 * messages after the first go, an environment turn with its answer where possible, the same number from every
 * alternative, until the longest fits. The first message and the last answer with what it answers stay; a step that
 * still does not fit is dropped, with a warning.
 */
import { Effect, Result } from "effect"
import * as ChatMask from "./ChatMask.ts"
import type { Message } from "../Message.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"

/** The alternatives (G) at one step of an episode. */
export interface Step {
  readonly messages: ReadonlyArray<ReadonlyArray<Message>>
  /** (G, T_i) */
  readonly tokens: ReadonlyArray<Int32Array>
  /** (G, T_i) the token id where trained, -100 elsewhere. */
  readonly masks: ReadonlyArray<Int32Array>
  readonly scores?: ReadonlyArray<number>
  readonly seed?: unknown
  readonly parsedActions?: ReadonlyArray<unknown>
}

/** The steps that fit, as they are or with shortened chats; a step without seed, actions or tokens is dropped. */
export const ensureTokenLimit = Effect.fn("MessageHistory.ensureTokenLimit")(function* (
  steps: ReadonlyArray<Step>,
  tokenizer: TokenizerShape,
  maxTokens: number
) {
  const kept: Array<Step> = []
  for (const [index, step] of steps.entries()) {
    const fitted = isComplete(step) ? fit(step, tokenizer, maxTokens) : Result.fail("it lacks seed, actions or tokens")
    if (Result.isSuccess(fitted)) kept.push(fitted.success)
    else yield* Effect.logWarning("step dropped", { step: index, maxTokens, reason: fitted.failure })
  }
  return kept
})

const isComplete = ({ masks, messages, parsedActions, seed, tokens }: Step): boolean =>
  messages.length > 0 &&
  tokens.length > 0 &&
  masks.length > 0 &&
  seed !== undefined &&
  seed !== null &&
  parsedActions !== undefined

const longest = (tokens: ReadonlyArray<Int32Array>): number =>
  tokens.reduce((most, one) => Math.max(most, one.length), 0)

const fit = (step: Step, tokenizer: TokenizerShape, maxTokens: number): Result.Result<Step, string> => {
  if (longest(step.tokens) <= maxTokens) return Result.succeed(step)
  let messages = step.messages
  while (true) {
    const counts = messages.map(removable).filter((count) => count > 0)
    if (counts.length === 0) return Result.fail("its shortest form is still too long")
    const count = Math.min(...counts)
    // An alternative that has nothing to spare gives up as much as the others.
    if (messages.some((chat) => chat.length <= count))
      return Result.fail("an alternative has no message left to give up")
    messages = messages.map(([first, ...rest]) => (first === undefined ? [] : [first, ...rest.slice(count)]))
    const rendered = Result.all(messages.map((chat) => ChatMask.tokenize(tokenizer, chat)))
    if (Result.isFailure(rendered)) return Result.fail(rendered.failure.message)
    const tokens = rendered.success.map((one) => one.tokens)
    if (longest(tokens) > maxTokens) continue
    const { parsedActions, scores, seed } = step
    return Result.succeed({
      seed,
      messages,
      tokens,
      masks: rendered.success.map(({ mask }) => mask),
      ...(scores !== undefined && { scores }),
      ...(parsedActions !== undefined && { parsedActions })
    })
  }
}

/** How many messages may go at once: a pair, one, or none. */
const removable = (chat: ReadonlyArray<Message>): number => {
  const available = chat.length - 1 - preservedAtEnd(chat)
  if (available <= 0) return 0
  return available >= 2 && chat[1]?.role === "environment" && isAnswer(chat[2]) ? 2 : 1
}

const preservedAtEnd = (chat: ReadonlyArray<Message>): number => {
  if (chat.length < 2 || !isAnswer(chat.at(-1))) return 0
  return chat.length > 2 && chat.at(-2)?.role === "environment" ? 2 : 1
}

const isAnswer = (message: Message | undefined): boolean => message?.role === "assistant" || message?.role === "agent"
