/**
 * Decides which scored groups are sent: the original's rules (atroposlib/envs/base.py, `handle_send_to_api`), each drop
 * with its reason.
 *
 * A group is dropped whole: for a size other than announced, for scores without signal, and, beyond the original, for
 * content no trainer could use. Groups with token-level advantages are kept even if their scores are equal.
 *
 * A sequence longer than the run's limit is cut, masked and marked as truncated: it is not trained on, but its score
 * stays in the group's baseline. A group of only such sequences is dropped. (The original drops any group with a
 * sequence that reaches the limit, as every truncated answer does.)
 */
import { Result } from "effect"
import type { TokenizerIdentity } from "../../inference/tokenizer/TokenizerIdentity.ts"
import { isUsable } from "../../reward/RewardComponents.ts"
import type { ContentPart, Message } from "../../trajectory/Message.ts"
import type { Overrides, ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import { isTooShort, notSampled, trainedTokens } from "../../trajectory/Trajectory.ts"
import * as VersionRuns from "../../trajectory/VersionRuns.ts"

/** Reasons to drop a group, with explanations. */
export const reasons = {
  wrong_size: "its number of sequences is not group_size (or group_overrides.group_size)",
  no_tokens: "a sequence has no tokens: neither the server nor a tokenizer provided any",
  misaligned: "masks, scores, logprobs, versions or a teacher's candidates do not match the tokens",
  not_finite: "scores, components or advantages contain NaN, Infinity or a number beyond float32 (3.4e38)",
  identical_scores: "all scores are equal, and there are no token-level advantages",
  too_short: "all sequences have fewer than min_trained_tokens trained tokens",
  too_long: "all sequences exceed the run's seq_len",
  unscorable: "the environment could not score it",
  rejected_by_service: "rejected by the service; see the dead letters"
} as const
export type DropReason = keyof typeof reasons

export interface FilterOptions {
  readonly groupSize: number
  readonly ensureScoresAreNotSame: boolean
  /** Sequences with fewer trained tokens are not trained on. Default: 0. */
  readonly minTrainedTokens?: number
  /** The trainer needs chats: missing ones are decoded from tokens. */
  readonly includeMessages: boolean
  /** Existing chats are sent for display, unless they are very large (`maxChatCharacters`). */
  readonly keepMessages?: boolean
  /** Max sequence length, tokens; 0 or less: no known limit. */
  readonly maxTokenLength: number
  /** Decodes a sequence's tokens to a chat, if there is a tokenizer. */
  readonly decode?: (tokens: Int32Array) => string
  /** Identifies the token ids; recorded with the group (`group_overrides.tokenizer`). */
  readonly tokenizer?: TokenizerIdentity | undefined
}

/** The group to send, or the reason it is dropped. */
export const filter = (input: ScoredGroup, options: FilterOptions): Result.Result<ScoredGroup, DropReason> => {
  const { tokenizer } = options
  const { tokens } = input
  const group: ScoredGroup =
    tokenizer === undefined ? input : { ...input, groupOverrides: { tokenizer, ...input.groupOverrides } }
  if (tokens.length !== expectedSize(group, options.groupSize)) return Result.fail("wrong_size")
  if (tokens.some((sequence) => sequence.length === 0)) return Result.fail("no_tokens")
  if (!isAligned(group)) return Result.fail("misaligned")
  if (!isFinite(group)) return Result.fail("not_finite")
  if (options.ensureScoresAreNotSame && group.advantages === undefined && hasOneScore(group.scores)) {
    return Result.fail("identical_scores")
  }
  if (tooShort(group, options.minTrainedTokens ?? 0) === tokens.length) return Result.fail("too_short")
  const limit = options.maxTokenLength
  if (limit <= 0 || tokens.every((sequence) => sequence.length <= limit)) {
    return Result.succeed(withMessages(group, options))
  }
  const left = cut(withMessages(group, options), limit)
  return left.masks.some((mask) => trainedTokens({ mask }) > 0) ? Result.succeed(left) : Result.fail("too_long")
}

const truncated: Overrides = { finish_reason: "length", truncated: true }

/** Rows truncated to the limit. */
const rowsWithin = <Row extends { readonly length: number; subarray(from: number, to: number): Row }>(
  rows: ReadonlyArray<Row>,
  limit: number
): ReadonlyArray<Row> => rows.map((row) => (row.length > limit ? row.subarray(0, limit) : row))

const cut = (group: ScoredGroup, limit: number): ScoredGroup => {
  const { advantages, distillLogprobs, distillTokenIds, inferenceLogprobs, refLogprobs, routedExperts, tokens } = group
  const isLong = tokens.map((sequence) => sequence.length > limit)
  return {
    ...group,
    tokens: rowsWithin(tokens, limit),
    masks: group.masks.map((mask, index) => (isLong[index] ? new Uint8Array(limit) : mask)),
    ...(advantages && { advantages: rowsWithin(advantages, limit) }),
    ...(refLogprobs && { refLogprobs: rowsWithin(refLogprobs, limit) }),
    ...(inferenceLogprobs && {
      inferenceLogprobs: inferenceLogprobs.map((row, index) =>
        isLong[index] ? new Float32Array(limit).fill(notSampled) : row
      )
    }),
    ...(distillTokenIds && { distillTokenIds: distillTokenIds.map((rows) => rows.slice(0, limit)) }),
    ...(distillLogprobs && { distillLogprobs: distillLogprobs.map((rows) => rows.slice(0, limit)) }),
    // Not trained on: `policyVersions` is enough.
    ...(group.versionRuns && {
      versionRuns: group.versionRuns.map((runs, index) => (isLong[index] ? new Int32Array() : runs))
    }),
    ...(group.keptTokens && { keptTokens: group.keptTokens.map((rows) => rows.slice(0, limit)) }),
    ...(routedExperts && {
      routedExperts: routedExperts.map((words, index) =>
        isLong[index] ? words.subarray(0, (words.length / (tokens[index]!.length - 1)) * (limit - 1)) : words
      )
    }),
    overrides: tokens.map((_, index) => ({ ...group.overrides?.[index], ...(isLong[index] && truncated) }))
  }
}

/** Approximate characters of chats: text, inline images, calls. */
export const charactersOf = (chats: NonNullable<ScoredGroup["messages"]>): number =>
  chats.reduce((sum, chat) => sum + chat.reduce((inside, message) => inside + messageCharacters(message), 0), 0)

const messageCharacters = ({ content, reasoning_content, tool_calls }: Message): number =>
  (typeof content === "string"
    ? content.length
    : (content ?? []).reduce((sum, part) => sum + partCharacters(part), 0)) +
  (reasoning_content?.length ?? 0) +
  (tool_calls ?? []).reduce((sum, call) => sum + call.function.arguments.length, 0)

const partCharacters = ({ image_url, text }: ContentPart): number => {
  const url = typeof image_url === "object" && image_url !== null && "url" in image_url ? image_url.url : image_url
  return (text?.length ?? 0) + (typeof url === "string" ? url.length : 0)
}

/** Trained tokens of each sequence (G). */
export const completionLengths = (group: ScoredGroup): ReadonlyArray<number> =>
  group.masks.map((mask) => trainedTokens({ mask }))

/** Number of sequences that are too short to train on. */
export const tooShort = ({ masks, tokens }: ScoredGroup, fewest: number): number =>
  tokens.reduce((sum, sequence, i) => sum + (isTooShort({ tokens: sequence, mask: masks[i]! }, fewest) ? 1 : 0), 0)

export const hasOneScore = (scores: Float64Array): boolean => {
  for (let i = 1; i < scores.length; i++) if (scores[i] !== scores[0]) return false
  return true
}

const expectedSize = ({ groupOverrides }: ScoredGroup, groupSize: number): number => {
  const own = groupOverrides?.["group_size"]
  return typeof own === "number" ? own : groupSize
}

const isAligned = (group: ScoredGroup): boolean => {
  const { advantages, distillLogprobs, distillTokenIds, inferenceLogprobs, masks, refLogprobs, scores, tokens } = group
  const fits = (rows: ReadonlyArray<ArrayLike<unknown>> | undefined): boolean =>
    rows === undefined ||
    (rows.length === tokens.length && rows.every((row, index) => row.length === tokens[index]!.length))
  const isWhole =
    group.routedExperts === undefined ||
    (group.routedExperts.length === tokens.length &&
      group.routedExperts.every((words, index) => words.length % Math.max(1, tokens[index]!.length - 1) === 0))
  const lists = [masks, advantages, inferenceLogprobs, refLogprobs, distillTokenIds, distillLogprobs, group.keptTokens]
  const isVersioned = (group.versionRuns ?? []).every(
    (runs, index) => VersionRuns.flaw(runs, tokens[index]?.length ?? 0, group.policyVersions?.[index]) === undefined
  )
  const isCounted = [scores, group.rewards ?? tokens, group.versionRuns ?? tokens].every(
    ({ length }) => length === tokens.length
  )
  return isCounted && isVersioned && isWhole && lists.every(fits)
}

const isFinite = ({ advantages, rewards, scores }: ScoredGroup): boolean =>
  scores.every(isUsable) &&
  (advantages ?? []).every((row) => row.every(Number.isFinite)) &&
  (rewards ?? []).every((components) => Object.values(components).every(isUsable))

/** Max characters of chats that are sent for display only; larger ones are mostly images. */
const maxChatCharacters = 4_000_000

const withMessages = (
  group: ScoredGroup,
  { decode, includeMessages, keepMessages = false }: FilterOptions
): ScoredGroup => {
  const { messages, ...rest } = group
  const hasMessages = messages !== undefined && messages.some((chat) => chat.length > 0)
  if (!includeMessages) return keepMessages && hasMessages && charactersOf(messages) <= maxChatCharacters ? group : rest
  if (hasMessages) return group
  if (decode === undefined) return rest
  return {
    ...rest,
    messages: group.tokens.map((sequence): ReadonlyArray<Message> => [{ role: "user", content: decode(sequence) }])
  }
}
