/**
 * Stores a session's tokens: the new ids of every prompt, and the ids, logprobs and policy versions of every answer as
 * sampled.
 *
 * Each id is stored once, however many turns follow. A prompt follows a prefix of an earlier answer (`Base`), usually
 * all of it; the chain of these is the sequence that the server saw. Each has a checksum of what was actually sent and
 * received, against which an assembled sequence is verified.
 */
import type { TokenChoice } from "../wire/Inference.ts"
import * as RoutedPath from "../session/RoutedPath.ts"
import type { Answer, Prompt } from "../session/SessionTree.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { Turn } from "../../trajectory/Timings.ts"
import type { FinishReason } from "../../trajectory/Trajectory.ts"
import type * as Sampling from "../../trajectory/Sampling.ts"
import type * as VersionRuns from "../../trajectory/VersionRuns.ts"

/** The tokens that a prompt continues. */
export interface Base {
  readonly answer: TokenAnswer
  /** Number of leading tokens of the answer: excludes its end token if the turn was not to end. */
  readonly kept: number
  /**
   * True if the following text comes after the exact text of those tokens, including special ones; otherwise after the
   * visible text.
   */
  readonly isExact: boolean
}

export interface PromptTokens {
  readonly base: Base | undefined
  /** The ids after the base. */
  readonly ids: Int32Array
  /** Total ids of the prompt. */
  readonly length: number
  /** Covers all ids, as sent. */
  readonly checksum: number
  /** The text of `ids`, if it cannot be derived from them. */
  readonly text: string | undefined
  readonly isChat: boolean
}

/** A run of tokens sampled by the same weights. */
export interface VersionRun {
  readonly policyVersion: number | undefined
  readonly tokens: number
}

export interface AnswerTokens {
  readonly ids: Int32Array
  /** May be fewer than the tokens, if the server sent fewer. */
  readonly logprobs: Float32Array
  readonly versions: ReadonlyArray<VersionRun>
  readonly routed: RoutedPath.Routed | undefined
  /** Per token the ids left by top-k, top-p and min-p. */
  readonly kept: ReadonlyArray<Int32Array> | undefined
  readonly sampling: Sampling.Sampling | undefined
  readonly finishReason: FinishReason
  /** True if its last token ends the turn. */
  readonly isEnded: boolean
  /** True if it ended at a stop string, which is not in its text. */
  readonly isStopped: boolean
  /** False: masked in every sequence. */
  readonly isTrained: boolean
  /** Covers prompt and answer. */
  readonly checksum: number
  readonly time: Turn
}

export type TokenPrompt = Prompt<PromptTokens, AnswerTokens>
export type TokenAnswer = Answer<PromptTokens, AnswerTokens>

/** The answers of a sequence, oldest first, and how much of each is kept. */
export const links = (
  tip: TokenAnswer
): ReadonlyArray<{ readonly answer: TokenAnswer; readonly kept: number; readonly start: number }> => {
  const chain = [{ answer: tip, kept: tip.data.ids.length, start: tip.prompt.data.length }]
  for (let base = tip.prompt.data.base; base !== undefined; base = base.answer.prompt.data.base) {
    chain.push({ answer: base.answer, kept: base.kept, start: base.answer.prompt.data.length })
  }
  return chain.toReversed()
}

/** All ids of a prompt, as a list for requests. */
export const idsOf = ({ base, ids, length }: PromptTokens): ReadonlyArray<number> => {
  // Preallocated: a growing list over-allocates by half, for as long as the server samples.
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

/** Initial checksum. */
export const seed = 0x811c9dc5

/** Extends a checksum by ids (FNV-1a over whole ids). */
export const checksum = (before: number, ids: ArrayLike<number>, from = 0, to = ids.length): number => {
  let sum = before
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ ids[at]!, 0x01000193)
  return sum
}

/** Copies an answer's tokens, so that later changes to the server's answer do not affect them. */
export const sampled = (
  tokenizer: TokenizerShape,
  { finishReason, keptTokens, logprobs, policyVersion, policyVersions, routedExperts, sampling, tokens }: TokenChoice,
  prompt: Pick<PromptTokens, "base" | "checksum" | "length">,
  { isStopped, isTrained = true, time }: Pick<AnswerTokens, "isStopped" | "time"> & { readonly isTrained?: boolean }
): AnswerTokens => ({
  ids: Int32Array.from(tokens),
  logprobs: Float32Array.from(logprobs.length > tokens.length ? logprobs.slice(0, tokens.length) : logprobs),
  versions: runs(policyVersions ?? [], tokens.length, policyVersion),
  routed: RoutedPath.ofAnswer(routedExperts, prompt.length, tokens.length, lengthOf(prompt.base)),
  kept: keptTokens?.map((ids) => Int32Array.from(ids)),
  sampling,
  finishReason,
  isEnded: isEnd(tokenizer, tokens.at(-1), finishReason),
  isStopped,
  isTrained,
  checksum: checksum(prompt.checksum, tokens),
  time
})

/** True if a last token ends a turn: the end token or, if the model stopped by itself, a special token. */
const isEnd = ({ decode, eosTokenId }: TokenizerShape, last: number | undefined, finishReason: FinishReason): boolean =>
  last !== undefined &&
  (last === eosTokenId ||
    (finishReason === "stop" && decode([last]) !== "" && decode([last], { skipSpecialTokens: true }) === ""))

const runs = (
  each: ReadonlyArray<number | undefined>,
  tokens: number,
  policyVersion: number | undefined
): ReadonlyArray<VersionRun> => {
  if (each.length !== tokens) return tokens === 0 ? [] : [{ policyVersion, tokens }]
  const made: Array<{ policyVersion: number | undefined; tokens: number }> = []
  for (const version of each) {
    const last = made.at(-1)
    if (last !== undefined && last.policyVersion === version) last.tokens++
    else made.push({ policyVersion: version, tokens: 1 })
  }
  return made
}

/** The runs of an answer's tokens in the range; `start` is the place of its first token in the sequence. */
export const runsWithin = (
  versions: ReadonlyArray<VersionRun>,
  from: number,
  to: number,
  start: number
): ReadonlyArray<VersionRuns.Run> => {
  let end = 0
  return versions.flatMap(({ policyVersion: version, tokens }) => {
    const begun = Math.max(from, end)
    end += tokens
    return begun < Math.min(to, end) ? [{ start: start + begun, version }] : []
  })
}
