/**
 * One recorded sequence: the exact tokens of prompts and completions that follow each other, with what was sampled and
 * how likely.
 *
 * Pure: which recorded sequence a prompt continues, what ids to send for it, what the sequence becomes, and whether it
 * is sound. `tokens`, `mask` and `logprobs` are aligned as in `Trajectory`. A sequence is never changed, only replaced
 * by a longer one.
 */
import type { TokenChoice } from "./backend/Inference.ts"
import type { Message } from "../Message.ts"
import { text as textOf } from "../Message.ts"
import type { PromptEncoder } from "./tokenizer/PromptEncoder.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"
import * as Sampling from "../Sampling.ts"
import { type FinishReason, isSampled, maskFrom, notSampled, type Trajectory } from "../Trajectory.ts"

export interface TrackedSequence {
  readonly promptText: string
  /** Prompt and completion as the caller saw it: without the special tokens of the completion. */
  readonly text: string
  /** The same with them; absent where the end token has no text of its own, so that the text would hide it. */
  readonly exactText: string | undefined
  /** Whether the last token is the tokenizer's end token, sampled. */
  readonly isEnded: boolean
  /** The chat as it was rendered, the completion's text as its last message; absent for text completions. */
  readonly rendered: ReadonlyArray<Message> | undefined
  readonly messages: ReadonlyArray<Message>
  readonly completion: string
  readonly finishReason: FinishReason
  readonly tokens: Int32Array
  readonly mask: Uint8Array
  readonly logprobs: Float32Array
  /** The oldest weights that sampled a part of it. */
  readonly policyVersion: number | undefined
  /** How all of it was sampled; `mixed`: parts were sampled differently. */
  readonly sampling: Sampling.Sampling | "mixed" | undefined
}

/** A prompt to be sent: its text, and for chats the messages it was rendered from. */
export interface Prompt {
  readonly text: string
  readonly rendered?: ReadonlyArray<Message>
}

/** What a prompt continues: the first `kept` tokens of a recorded sequence. */
export interface Continuation {
  readonly base: TrackedSequence
  readonly kept: number
  readonly inputIds: ReadonlyArray<number>
}

/**
 * The recorded sequence that a prompt continues with the most tokens, if any. A sequence counts where its text with
 * special tokens, that is every token of it, begins the prompt. Where the template closes the last turn otherwise than
 * the model did, the caller's messages prove it, or, for text completions, the completion's own words. An end token
 * that the template writes again is not repeated.
 */
export const continuation = (
  tokenizer: TokenizerShape,
  encoder: PromptEncoder,
  sequences: ReadonlyArray<TrackedSequence>,
  prompt: Prompt
): Continuation | undefined => {
  let best: { readonly base: TrackedSequence; readonly kept: number; readonly rest: string } | undefined
  for (const base of sequences) {
    const rest = restOf(tokenizer, base, prompt)
    if (rest === undefined) continue
    // A prompt that ends where the model ended its turn asks to go on with that turn: the end token is not part of it.
    const kept = base.isEnded && rest === "" ? base.tokens.length - 1 : base.tokens.length
    if (best === undefined || best.kept < kept) best = { base, kept, rest }
  }
  if (best === undefined) return undefined
  const { base, kept, rest } = best
  return { base, kept, inputIds: [...base.tokens.subarray(0, kept), ...encoder.rest(rest)] }
}

/** The part of the prompt's text that follows a sequence; absent where the prompt does not continue it. */
const restOf = (tokenizer: TokenizerShape, base: TrackedSequence, { rendered, text }: Prompt): string | undefined => {
  const { exactText, isEnded } = base
  // The same prompt again is a new sample, whatever was sampled before.
  if (text === base.promptText) return undefined
  if (exactText !== undefined && text.startsWith(exactText)) {
    return text.length === exactText.length && isEnded ? undefined : text.slice(exactText.length)
  }
  if (!text.startsWith(base.text)) return undefined
  const isProven =
    rendered === undefined || base.rendered === undefined
      ? rendered === base.rendered && base.completion !== ""
      : repeats(rendered, base.rendered)
  if (!isProven) return undefined
  const rest = text.slice(base.text.length)
  const end = isEnded && tokenizer.eosTokenId !== undefined ? tokenizer.decode([tokenizer.eosTokenId]) : ""
  return end !== "" && rest.startsWith(end) ? rest.slice(end.length) : rest
}

/** Whether a chat begins with the turns of another. */
export const repeats = (chat: ReadonlyArray<Message>, beginning: ReadonlyArray<Message>): boolean =>
  chat.length >= beginning.length &&
  beginning.every((message, index) => {
    const other = chat[index]
    return other !== undefined && other.role === message.role && textOf(other) === textOf(message)
  })

/** The texts of a completion: as the caller sees it, and with every special token. */
export const completionTexts = (
  { decode, eosTokenId }: TokenizerShape,
  tokens: ReadonlyArray<number>,
  keepSpecialTokens: boolean
): { readonly visible: string; readonly exact: string | undefined; readonly isEnded: boolean } => {
  const isEnded = eosTokenId !== undefined && tokens.at(-1) === eosTokenId
  const exact = isEnded && decode([eosTokenId]) === "" ? undefined : decode(tokens)
  // With tools, tags that are special tokens have to survive; the end token is never part of an answer.
  const visible = keepSpecialTokens
    ? decode(isEnded ? tokens.slice(0, -1) : tokens)
    : decode(tokens, { skipSpecialTokens: true })
  return { visible, exact, isEnded }
}

/**
 * The sequence that a sampled completion makes of a prompt: what it continues keeps its mask and logprobs, the rest of
 * the prompt is masked.
 */
export const extend = (options: {
  readonly prompt: Prompt
  readonly inputIds: ReadonlyArray<number>
  readonly from: Continuation | undefined
  readonly sampled: TokenChoice
  readonly texts: ReturnType<typeof completionTexts>
  readonly messages: ReadonlyArray<Message>
  readonly rendered: ReadonlyArray<Message> | undefined
}): TrackedSequence => {
  const { from, inputIds, messages, prompt, rendered, sampled, texts } = options
  const start = inputIds.length
  const tokens = new Int32Array(start + sampled.tokens.length)
  tokens.set(inputIds)
  tokens.set(sampled.tokens, start)
  const mask = maskFrom(start, tokens.length)
  const logprobs = new Float32Array(tokens.length).fill(notSampled)
  if (from !== undefined) {
    mask.set(from.base.mask.subarray(0, from.kept))
    logprobs.set(from.base.logprobs.subarray(0, from.kept))
  }
  logprobs.set(sampled.logprobs.slice(0, sampled.tokens.length), start)
  return {
    promptText: prompt.text,
    text: prompt.text + texts.visible,
    exactText: texts.exact === undefined ? undefined : prompt.text + texts.exact,
    isEnded: texts.isEnded,
    rendered,
    messages,
    completion: texts.visible,
    finishReason: sampled.finishReason,
    tokens,
    mask,
    logprobs,
    policyVersion: oldest(from?.base.policyVersion, sampled.policyVersion),
    sampling: from === undefined ? sampled.sampling : common(from.base.sampling, sampled.sampling)
  }
}

const oldest = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : Math.min(left, right)

const common = (left: TrackedSequence["sampling"], right: Sampling.Sampling | undefined): TrackedSequence["sampling"] =>
  left !== "mixed" && Sampling.areEqual(left, right) ? left : "mixed"

/** What is wrong with the alignment of a trajectory, with the positions around it; nothing where it is sound. */
export const violation = ({
  logprobs,
  mask,
  tokens
}: Pick<Trajectory, "tokens" | "mask" | "logprobs">): string | undefined => {
  const lengths = [tokens.length, mask.length, logprobs?.length ?? tokens.length]
  if (lengths.some((length) => length !== tokens.length)) {
    return `tokens, mask and logprobs differ in length: ${lengths.join(", ")}`
  }
  for (let at = 0; at < tokens.length; at++) {
    const problem = problemAt(tokens[at]!, mask[at]!, logprobs?.[at])
    if (problem !== undefined)
      return `position ${at} of ${tokens.length}: ${problem}\n${excerpt(at, tokens, mask, logprobs)}`
  }
  return undefined
}

const problemAt = (token: number, trained: number, logprob: number | undefined): string | undefined => {
  if (token < 0) return `${token} is not a token id`
  if (trained !== 0 && trained !== 1) return "the mask is neither 0 nor 1"
  if (logprob === undefined) return undefined
  if (trained === 0) return isSampled(logprob) ? "masked, but with a logprob" : undefined
  return logprob <= 0
    ? undefined
    : "trained, but without a logprob of 0 or below (the server sent fewer logprobs than tokens?)"
}

const written = (logprob = notSampled): string => (isSampled(logprob) ? logprob.toFixed(4) : "-")

const excerpt = (at: number, tokens: Int32Array, mask: Uint8Array, logprobs: Float32Array | undefined): string => {
  const rows = ["  position      token       mask    logprob"]
  for (let index = Math.max(0, at - 2); index < Math.min(tokens.length, at + 3); index++) {
    const cells = [index, tokens[index]!, mask[index]!, written(logprobs?.[index])]
    rows.push(`${index === at ? ">" : " "} ${cells.map((cell) => String(cell).padStart(10)).join(" ")}`)
  }
  return rows.join("\n")
}

/** The sequence as what an environment scores and a trainer gets. */
export const toTrajectory = ({
  completion,
  finishReason,
  logprobs,
  mask,
  messages,
  policyVersion,
  sampling,
  tokens
}: TrackedSequence): Trajectory => ({
  messages,
  completion,
  finishReason,
  tokens,
  mask,
  logprobs,
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && sampling !== "mixed" && { sampling })
})
