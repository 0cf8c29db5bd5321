/**
 * What a session keeps of tokens: of every prompt the ids that are new in it, of every answer the ids, logprobs and
 * policy versions as they were sampled.
 *
 * Each id is held once, however many turns follow. A prompt follows a part of an earlier answer (`Base`), most often
 * all of it; the chain of these is the sequence that the server saw. A checksum of what was really sent and received
 * stands beside each, so that a sequence put together later can be held against it.
 */
import type { TokenChoice } from "./backend/Inference.ts"
import * as RoutedPath from "./session/RoutedPath.ts"
import type { Answer, Prompt } from "./session/SessionTree.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"
import type { Turn } from "../Timings.ts"
import type { FinishReason } from "../Trajectory.ts"
import type * as Sampling from "../Sampling.ts"

/** The tokens that a prompt goes on from. */
export interface Base {
  readonly answer: TokenAnswer
  /** The first so many tokens of the answer: without its end where the turn was not to end. */
  readonly kept: number
  /** Whether the text that follows comes after the text of those tokens, special ones and all; else after its words. */
  readonly isExact: boolean
}

export interface PromptTokens {
  readonly base: Base | undefined
  /** The ids behind them. */
  readonly ids: Int32Array
  /** All ids of the prompt. */
  readonly length: number
  /** Of all of them, as they were sent. */
  readonly checksum: number
  /** The text of `ids`, where they alone do not say it. */
  readonly text: string | undefined
  /** Whether it is a chat's. */
  readonly isChat: boolean
}

/** So many tokens in a row that the same weights sampled. */
export interface VersionRun {
  readonly policyVersion: number | undefined
  readonly tokens: number
}

export interface AnswerTokens {
  readonly ids: Int32Array
  /** As many as the server sent. */
  readonly logprobs: Float32Array
  readonly versions: ReadonlyArray<VersionRun>
  readonly routed: RoutedPath.Routed | undefined
  readonly sampling: Sampling.Sampling | undefined
  readonly finishReason: FinishReason
  /** Whether its last token ends the turn. */
  readonly isEnded: boolean
  /** Whether a stop string ended it, which its text does not have. */
  readonly isStopped: boolean
  /** Of prompt and answer. */
  readonly checksum: number
  readonly time: Turn
}

export type TokenPrompt = Prompt<PromptTokens, AnswerTokens>
export type TokenAnswer = Answer<PromptTokens, AnswerTokens>

/** The answers that a sequence is made of, oldest first, and how much of each. */
export const links = (
  tip: TokenAnswer
): ReadonlyArray<{ readonly answer: TokenAnswer; readonly kept: number; readonly start: number }> => {
  const chain = [{ answer: tip, kept: tip.data.ids.length, start: tip.prompt.data.length }]
  for (let base = tip.prompt.data.base; base !== undefined; base = base.answer.prompt.data.base) {
    chain.push({ answer: base.answer, kept: base.kept, start: base.answer.prompt.data.length })
  }
  return chain.toReversed()
}

/** All ids of a prompt, in a list as requests have them. */
export const idsOf = ({ base, ids, length }: PromptTokens): ReadonlyArray<number> => {
  // Of its size from the start: a list that grows has room for half as many again, for as long as the server samples.
  const all: Array<number> = []
  all.length = length
  let end = length
  const put = (piece: Int32Array, count: number): void => {
    end -= count
    for (let at = 0; at < count; at++) all[end + at] = piece[at]!
  }
  put(ids, ids.length)
  for (let one = base; one !== undefined; one = one.answer.prompt.data.base) {
    put(one.answer.data.ids, one.kept)
    put(one.answer.prompt.data.ids, one.answer.prompt.data.ids.length)
  }
  return all
}

export const lengthOf = (base: Base | undefined): number =>
  base === undefined ? 0 : base.answer.prompt.data.length + base.kept

/** Where a checksum begins. */
export const seed = 0x811c9dc5

/** A checksum of ids behind others (FNV-1a over whole ids). */
export const checksum = (before: number, ids: ArrayLike<number>, from = 0, to = ids.length): number => {
  let sum = before
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ ids[at]!, 0x01000193)
  return sum
}

/** An answer's tokens, copied, so that nothing that becomes of the server's answer changes them. */
export const sampled = (
  tokenizer: TokenizerShape,
  { finishReason, logprobs, policyVersion, policyVersions, routedExperts, sampling, tokens }: TokenChoice,
  prompt: Pick<PromptTokens, "base" | "checksum" | "length">,
  { isStopped, time }: { readonly isStopped: boolean; readonly time: Turn }
): AnswerTokens => ({
  ids: Int32Array.from(tokens),
  logprobs: Float32Array.from(logprobs.length > tokens.length ? logprobs.slice(0, tokens.length) : logprobs),
  versions: runs(policyVersions ?? [], tokens.length, policyVersion),
  routed: RoutedPath.ofAnswer(routedExperts, prompt.length, tokens.length, lengthOf(prompt.base)),
  sampling,
  finishReason,
  isEnded: isEnd(tokenizer, tokens.at(-1), finishReason),
  isStopped,
  checksum: checksum(prompt.checksum, tokens),
  time
})

/** Whether a last token ends a turn: the end token, or, where the model stopped by itself, a special one. */
const isEnd = ({ decode, eosTokenId }: TokenizerShape, last: number | undefined, finishReason: FinishReason): boolean =>
  last !== undefined &&
  (last === eosTokenId ||
    (finishReason === "stop" && decode([last]) !== "" && decode([last], { skipSpecialTokens: true }) === ""))

const runs = (
  each: ReadonlyArray<number>,
  tokens: number,
  policyVersion: number | undefined
): ReadonlyArray<VersionRun> => {
  if (each.length !== tokens) return tokens === 0 ? [] : [{ policyVersion, tokens }]
  const made: Array<{ policyVersion: number; tokens: number }> = []
  for (const version of each) {
    const last = made.at(-1)
    if (last?.policyVersion === version) last.tokens++
    else made.push({ policyVersion: version, tokens: 1 })
  }
  return made
}

/** The oldest weights that sampled some of an answer's tokens. */
export const oldest = (versions: ReadonlyArray<VersionRun>, from: number, to: number): number | undefined => {
  let found: number | undefined
  let start = 0
  for (const { policyVersion, tokens } of versions) {
    const isInside = start < to && start + tokens > from
    if (isInside && policyVersion !== undefined) found = Math.min(found ?? policyVersion, policyVersion)
    start += tokens
  }
  return found
}
