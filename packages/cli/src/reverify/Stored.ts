/**
 * Reconstructs the trajectories to score from the lines of a file, a group or the samples of one evaluation item: chat,
 * last answer, finish reason, tokens and mask. A line without a chat or answer carries the reason.
 */
import { Message, type RewardComponents, type SavedGroup, Trajectory } from "@atropos/core"
import * as ContentId from "@atropos/core/base/ContentId"
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Result } from "effect"

/** Rollouts that were scored together. */
export interface Stored {
  /** One group, or the samples of an item. */
  readonly entries: ReadonlyArray<SavedGroup.Saved>
  readonly itemId: string | undefined
  /** Ids of the chat prefixes before each of their answers: one of them is the item's prompt. */
  readonly beginnings: ReadonlyArray<string>
  /** Or the reason why it cannot be scored. */
  readonly trajectories: Result.Result<ReadonlyArray<Trajectory.Trajectory>, string>
  readonly scores: ReadonlyArray<number>
  readonly rewards: ReadonlyArray<RewardComponents.Rewards> | undefined
}

const isAnswer = ({ role }: Message.Message): boolean => role === "assistant"

/** The id of a chat prefix, from roles and contents only. */
export const beginning = (messages: ReadonlyArray<Message.Message>): string =>
  ContentId.of(messages.map(({ content, role }) => [role, content]))

const beginningsOf = (chat: ReadonlyArray<Message.Message>): ReadonlyArray<string> =>
  chat.flatMap((message, at) => (at > 0 && isAnswer(message) ? [beginning(chat.slice(0, at))] : []))

/** The model's last message, preceded by its reasoning if the server returned that separately. */
const completionOf = (message: Message.Message): string => {
  const { reasoning_content: reasoning } = message
  return reasoning ? `<think>${reasoning}</think>${Message.text(message)}` : Message.text(message)
}

const finishOf = (switches: { readonly [name: string]: unknown } | undefined, last: Message.Message): string => {
  const finish = switches?.["finish_reason"]
  return typeof finish === "string" ? finish : (last.tool_calls ?? []).length > 0 ? "tool_calls" : "stop"
}

const trajectoryOf = (
  { group, isEvaluation, sample }: SavedGroup.Saved,
  index: number
): Result.Result<Trajectory.Trajectory, string> => {
  // Environments read numbers, also in arguments that are an object; a chat stays a chat.
  const messages = ExactJson.plain(group.messages?.[index] ?? []) as ReadonlyArray<Message.Message>
  const last = messages.findLast(isAnswer)
  if (messages.length === 0) return Result.fail("it has no messages: it was saved without them (include_messages)")
  if (last === undefined) return Result.fail("one of its chats has no assistant message")
  const switches = group.overrides?.[index]
  // A sample has a token count but no tokens.
  const tokenCount = sample?.["tokens"]
  const count = typeof tokenCount === "number" && Number.isInteger(tokenCount) && tokenCount > 0 ? tokenCount : 0
  const written = sample?.["completion"]
  const logprobs = group.inferenceLogprobs?.[index]
  const version = group.policyVersions?.[index]
  return Result.succeed({
    messages,
    completion: typeof written === "string" ? written : completionOf(last),
    finishReason: finishOf(switches, last),
    tokens: isEvaluation ? new Int32Array(count) : group.tokens[index]!,
    mask: isEvaluation ? Trajectory.maskFrom(0, count) : group.masks[index]!,
    ...(logprobs && { logprobs }),
    ...(typeof version === "number" && { policyVersion: version })
  })
}

export const make = (entries: ReadonlyArray<SavedGroup.Saved>): Stored => {
  const groups = entries.map(({ group }) => group)
  const chats = groups.flatMap(({ messages = [] }) => messages)
  const [first = [], ...others] = chats.map(beginningsOf)
  const rewards = groups.flatMap(({ rewards }) => rewards ?? [])
  return {
    entries,
    itemId: groups[0]?.itemId,
    beginnings: first.filter((one) => others.every((known) => known.includes(one))),
    trajectories: Result.all(
      entries.flatMap((entry) => entry.group.tokens.map((_, index) => trajectoryOf(entry, index)))
    ),
    scores: groups.flatMap(({ scores }) => [...scores]),
    rewards: rewards.length === 0 ? undefined : rewards
  }
}

/** The grouping key: adjacent samples of one item were scored together; any other line is on its own. */
export const together = (entry: SavedGroup.Saved): string => {
  const { group, isEvaluation, line } = entry
  return isEvaluation ? ContentId.canonical(["item", group.overrides?.[0]?.["item"], group.itemId]) : `line ${line}`
}
