/**
 * Computes token ids and loss mask of a finished chat from its text: the original's `tokenize_for_trainer`
 * (atroposlib/utils/tokenize_for_trainer.py).
 *
 * A turn trains the tokens it adds to its prompt, including the template's end of turn. The template's rendering of a
 * chat must begin with the rendering of every prefix of it; if a template rewrites earlier turns (drops reasoning, adds
 * a date) the mask would be wrong, so `tokenize` fails and shows where.
 *
 * Retokenized text may differ from the sampled tokens: if the server reports them, use the exact `TrackedSequences`.
 */
import { Result, Schema } from "effect"
import type { Answer, AnswerChoice } from "../backend/Backend.ts"
import type { Message } from "../../trajectory/Message.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as VersionRuns from "../../trajectory/VersionRuns.ts"
import { type FinishReason, maskFrom, notSampled, type Trajectory } from "../../trajectory/Trajectory.ts"

/** The template renders the beginning of a chat differently once more messages follow, so no mask can be computed. */
export class ChatMaskError extends Schema.TaggedError<ChatMaskError>()("ChatMaskError", {
  tokenizer: Schema.String,
  message: Schema.String
}) {}

export interface ChatTokens {
  readonly tokens: Int32Array
  /** (T) 1 where trained, 0 elsewhere. */
  readonly mask: Uint8Array
}

/** Turns to train: the last message, every `assistant` and `agent` message, or those selected by a predicate. */
export type TrainedTurns = "last" | "assistants" | ((message: Message, index: number) => boolean)

export interface TokenizeOptions {
  /** Default "last". */
  readonly train?: TrainedTurns
  /**
   * "length": removes the end of turn that the template adds after the last message, because the model did not write
   * it.
   */
  readonly finishReason?: FinishReason
  readonly tools?: ReadonlyArray<unknown>
}

/** Tokens and mask of a chat, or the position at which the template breaks the rule above. */
export const tokenize = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  options: TokenizeOptions = {}
): Result.Result<ChatTokens, ChatMaskError> => {
  const { finishReason, tools, train = "last" } = options
  const render = (count: number, addGenerationPrompt: boolean): string =>
    tokenizer.applyChatTemplate(messages.slice(0, count), {
      addGenerationPrompt,
      ...(tools !== undefined && { tools })
    })
  const encode = (text: string): ReadonlyArray<number> => tokenizer.encode(text, { addSpecialTokens: false })
  const isTrained = choose(train, messages.length)

  const whole = render(messages.length, false)
  const tokens = Int32Array.from(encode(whole))
  const mask = new Uint8Array(tokens.length)
  for (const [index, message] of messages.entries()) {
    if (!isTrained(message, index)) continue
    const before = render(index, true)
    const after = index === messages.length - 1 ? whole : render(index + 1, false)
    if (!after.startsWith(before) || !whole.startsWith(after)) {
      return Result.fail(
        new ChatMaskError({
          tokenizer: tokenizer.name,
          message: explain(index, after.startsWith(before) ? [after, whole] : [before, after])
        })
      )
    }
    // If a token straddles the two texts, the part that both tokenize identically is the prompt.
    const start = commonLength(encode(before), tokens)
    const end = after === whole ? tokens.length : commonLength(encode(after), tokens)
    mask.fill(1, start, end)
  }
  const length = finishReason === "length" ? withoutEndOfTurn(tokenizer, tokens) : tokens.length
  return Result.succeed({ tokens: tokens.slice(0, length), mask: mask.slice(0, length) })
}

/**
 * The trajectory of a chat with a known last answer: from the server's tokens if it sent them and the prompt's are
 * given, else from the tokenizer's, with the mask selected by `train`.
 */
export const chatTrajectory = (
  tokenizer: TokenizerShape | undefined,
  request: { readonly messages: ReadonlyArray<Message>; readonly tools?: ReadonlyArray<unknown> },
  choice: AnswerChoice,
  { promptTokens, train }: Pick<Answer, "promptTokens"> & Pick<TokenizeOptions, "train"> = {}
): Result.Result<Trajectory, ChatMaskError> => {
  const messages = [...request.messages, choice.message]
  const { finishReason } = choice
  if (choice.sampled !== undefined && promptTokens !== undefined) {
    return Result.succeed(fromSampled(messages, choice, promptTokens, choice.sampled))
  }
  if (tokenizer === undefined) return Result.succeed(fromTokens(messages, choice, untokenized))
  const { tools } = request
  const options = { finishReason, ...(tools !== undefined && { tools }), ...(train !== undefined && { train }) }
  return Result.map(tokenize(tokenizer, messages, options), (tokens) => fromTokens(messages, choice, tokens))
}

export const textTrajectory = (
  tokenizer: TokenizerShape | undefined,
  prompt: string,
  choice: AnswerChoice,
  promptTokens?: Answer["promptTokens"]
): Trajectory => {
  const messages = [{ role: "user", content: prompt }, choice.message]
  if (choice.sampled !== undefined && promptTokens !== undefined) {
    return fromSampled(messages, choice, promptTokens, choice.sampled)
  }
  if (tokenizer === undefined) return fromTokens(messages, choice, untokenized)
  const before = tokenizer.encode(prompt)
  const tokens = Int32Array.from([...before, ...tokenizer.encode(choice.text, { addSpecialTokens: false })])
  return fromTokens(messages, choice, { tokens, mask: maskFrom(before.length, tokens.length) })
}

const untokenized: ChatTokens = { tokens: new Int32Array(0), mask: new Uint8Array(0) }

const fromTokens = (
  messages: ReadonlyArray<Message>,
  { finishReason, policyVersion, sampling, text }: AnswerChoice,
  { mask, tokens }: ChatTokens
): Trajectory => ({
  messages,
  completion: text,
  finishReason,
  tokens,
  mask,
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})

const fromSampled = (
  messages: ReadonlyArray<Message>,
  choice: AnswerChoice,
  promptTokens: ReadonlyArray<number>,
  sampled: NonNullable<AnswerChoice["sampled"]>
): Trajectory => {
  const tokens = new Int32Array(promptTokens.length + sampled.tokens.length)
  tokens.set(promptTokens)
  tokens.set(sampled.tokens, promptTokens.length)
  const logprobs = new Float32Array(tokens.length).fill(notSampled)
  logprobs.set(sampled.logprobs, promptTokens.length)
  const versionRuns = sampled.policyVersions && VersionRuns.ofTokens(sampled.policyVersions, promptTokens.length)
  return {
    ...fromTokens(messages, choice, { tokens, mask: maskFrom(promptTokens.length, tokens.length) }),
    ...(versionRuns && { versionRuns }),
    logprobs
  }
}

const choose = (train: TrainedTurns, count: number): ((message: Message, index: number) => boolean) => {
  if (train === "last") return (_, index) => index === count - 1
  if (train === "assistants") return ({ role }) => role === "assistant" || role === "agent"
  return train
}

const commonLength = (left: ArrayLike<number>, right: ArrayLike<number>): number => {
  const limit = Math.min(left.length, right.length)
  let length = 0
  while (length < limit && left[length] === right[length]) length++
  return length
}

const withoutEndOfTurn = (tokenizer: TokenizerShape, tokens: Int32Array): number => {
  let last = tokens.length - 1
  while (last >= 0 && tokens[last] !== tokenizer.eosTokenId && tokenizer.decode([tokens[last]!]).trim() === "") last--
  return last >= 0 && tokens[last] === tokenizer.eosTokenId ? last : tokens.length
}

const explain = (index: number, [shorter, longer]: readonly [string, string]): string => {
  let at = 0
  while (at < shorter.length && shorter[at] === longer[at]) at++
  const excerpt = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 20), at + 20))
  return (
    `the chat template changes the text up to message ${index} once more messages follow, so its tokens cannot be ` +
    `identified: at character ${at}, ${excerpt(shorter)} became ${excerpt(longer)}. Use a template that only appends, ` +
    `or a server that reports token ids`
  )
}
