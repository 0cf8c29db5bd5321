/**
 * Plays a pre-written dialogue (`Script`): while the model's calls match the script it receives the script's tool
 * replies, until an answer differs or the script is over.
 *
 * The score follows from the messages alone. An answer is right if its calls can be paired with the expected ones (same
 * name, every expected argument equal), or if it has words and no calls if none are expected. `calls` is the share of
 * the expected calls made before the first wrong answer, `complete` is 1 if there was none; the score is the mean of
 * both. Each turn scores 1 or 0, which gives it its own advantage (`ToolEpisode.credited`). Behaviour:
 * tool_use_multiturn_server.py and tool_use_turnlevel_advantage_server.py of the original, without its bonus for words
 * of apology.
 */
import { type Environment, Message, type RewardComponents, ServerManager, ToolCalls, Trajectory } from "@atropos/core"
import * as Budget from "../kit/Budget.ts"
import * as Thinking from "../kit/Thinking.ts"
import * as ToolEpisode from "../kit/tools/ToolEpisode.ts"
import { Effect, Option, type Scope } from "effect"
import * as Script from "./Script.ts"

/**
 * The calls of an answer: those from the API, else those in its text; undefined for a call with unreadable arguments.
 */
export const callsOf = (answer: Message.Message): ReadonlyArray<ToolCalls.Call | undefined> => {
  const { tool_calls: toolCalls = [] } = answer
  return toolCalls.length > 0
    ? toolCalls.map(({ function: called }) => Script.callOf(called.name, called.arguments))
    : ToolCalls.callsOf(Thinking.visibleText(Message.text(answer)))
}

/** For every expected call the index of the matching call; undefined if the answer is wrong. */
export const pairing = ({ expected }: Script.Turn, answer: Message.Message): ReadonlyArray<number> | undefined => {
  const calls = callsOf(answer)
  const made = calls.filter((call) => call !== undefined)
  if (made.length !== calls.length) return undefined
  if (expected.length > 0) return ToolCalls.pairOneToOne(expected, made)
  const words = Thinking.visibleText(Message.text(answer))
  // An unreadable call is not an answer in words.
  return made.length === 0 && words.trim() !== "" && !words.includes("<tool_call") ? [] : undefined
}

/** The messages to the model after a right answer. */
const describe = (
  turn: Script.Turn,
  answer: Message.Message,
  places: ReadonlyArray<number>
): ReadonlyArray<Message.Message> => {
  const { expected, replies, said: reply } = turn
  const { tool_calls: calls = [] } = answer
  if (calls.length === 0) return [...replies.map((content) => ({ role: "tool", content })), ...reply]
  // Without a reply for each call, the first one contains all.
  const whole =
    replies.length === expected.length ? replies : [replies.join("\n"), ...expected.slice(1).map(() => "(see above)")]
  const tools = calls.map(({ function: { name }, id }, at): Message.Message => ({
    role: "tool",
    name,
    content: whole[places.indexOf(at)] ?? "",
    ...(id !== undefined && { tool_call_id: id })
  }))
  return [...tools, ...reply]
}

export interface Options extends Pick<ServerManager.SamplingOptions, "maxTokens" | "temperature" | "seed" | "split"> {
  readonly limits: Budget.Limits
}

/** One episode; undefined if its prompt leaves no room for an answer. */
export const play = Effect.fn("Scripted.play")(function* (
  { prompt, tools, turns }: Script.Script,
  { limits, ...sampling }: Options
): Effect.fn.Return<
  Trajectory.Trajectory | undefined,
  ServerManager.InferenceError,
  ServerManager.ServerManager | Scope.Scope
> {
  const servers = yield* ServerManager.ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  let messages = prompt
  for (const turn of turns) {
    const answer = yield* budget.turn(session, { messages, ...(tools.length > 0 && { tools }), ...sampling })
    if (Option.isNone(answer)) break
    const { message } = answer.value
    messages = [...messages, message]
    const places = pairing(turn, message)
    if (places === undefined) break
    messages = [...messages, ...describe(turn, message, places)]
  }
  // If a template rewrote the chat, the last sequence contains the most of it.
  const trajectory = (yield* session.trajectories).at(-1)
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  return trajectory === undefined ? undefined : { ...trajectory, messages: messages.slice(0, last + 1) }
}, Effect.scoped)

/** A group of episodes, without those that have no room for an answer. */
export const playGroup = (
  script: Script.Script,
  { count, ...options }: Options & { readonly count: number }
): Effect.Effect<ReadonlyArray<Trajectory.Trajectory>, ServerManager.InferenceError, ServerManager.ServerManager> =>
  Effect.map(
    Effect.forEach(Array.from({ length: count }).keys(), () => play(script, options), { concurrency: "unbounded" }),
    (episodes) => episodes.filter((one) => one !== undefined)
  )

export interface Judged {
  /** 1 or 0 for every answer. */
  readonly turns: ReadonlyArray<number>
  readonly calls: number
  readonly complete: number
}

const count = (turns: ReadonlyArray<Script.Turn>): number =>
  turns.reduce((sum, { expected }) => sum + expected.length, 0)

export const judge = ({ turns }: Script.Script, { messages }: Pick<Trajectory.Trajectory, "messages">): Judged => {
  const answers = messages.filter(({ role }) => role === "assistant")
  const firstWrong = turns.findIndex(
    (turn, index) => answers[index] === undefined || pairing(turn, answers[index]) === undefined
  )
  const right = firstWrong === -1 ? turns.length : firstWrong
  const all = count(turns)
  return {
    turns: answers.map((_, index) => (index < right ? 1 : 0)),
    calls: all === 0 ? Number(right === turns.length) : count(turns.slice(0, right)) / all,
    complete: Number(right === turns.length)
  }
}

export const rule: RewardComponents.Rule = { weights: { calls: 0.5, complete: 0.5 } }

/** Scores with components, and an advantage for every turn. */
export const score = (
  script: Script.Script,
  group: ReadonlyArray<Trajectory.Trajectory>,
  by: RewardComponents.Rule,
  { outcomeWeight }: { readonly outcomeWeight: number }
): ReadonlyArray<Environment.Score> => {
  const judged = group.map((episode) => judge(script, episode))
  const turns = judged.map((one) => one.turns)
  const rewards = judged.map(({ calls, complete }) => ({ calls, complete }))
  return ToolEpisode.scoredParts(group, rewards, by, { outcomeWeight, turns })
}

/** The episode that these answers would have given, for claims and tests; one token per UTF-16 unit of them. */
export const episodeOf = ({ prompt, turns }: Script.Script, answers: ReadonlyArray<string>): Trajectory.Trajectory => {
  const messages = Array.from(prompt)
  for (const [index, answer] of answers.entries()) {
    const message = Message.assistant(answer)
    const turn = turns[index]
    messages.push(message)
    const places = turn && pairing(turn, message)
    if (turn === undefined || places === undefined || index === answers.length - 1) break
    messages.push(...describe(turn, message, places))
  }
  const reply = messages.filter(({ role }) => role === "assistant").map(Message.text)
  // One token separates two answers.
  const units = reply.flatMap((text) => [0, ...Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))])
  const starts = new Set(reply.map((_, index) => reply.slice(0, index).reduce((sum, text) => sum + text.length + 1, 0)))
  return {
    messages,
    completion: reply.at(-1) ?? "",
    finishReason: "stop",
    tokens: Int32Array.from(units),
    mask: Uint8Array.from(units, (_, at) => (starts.has(at) ? 0 : 1))
  }
}

export const answersOf = ({ turns }: Script.Script): ReadonlyArray<string> =>
  turns.map(({ expected }) => (expected.length === 0 ? "Let me see." : expected.map(ToolCalls.writeCall).join("\n")))

/** Episodes that must get the top score. */
export const gold = (script: Script.Script): ReadonlyArray<Trajectory.Trajectory> => {
  const answers = answersOf(script)
  return [answers, answers.map((answer) => `<think>Which tools are needed?</think>${answer}`)].map((one) =>
    episodeOf(script, one)
  )
}

/** Episodes that must score less: each differs in one answer. */
export const wrong = (script: Script.Script): ReadonlyArray<Trajectory.Trajectory> => {
  const answers = answersOf(script)
  const last = script.turns.length - 1
  const changed = (index: number, answer: string) => episodeOf(script, answers.with(index, answer))
  const call = ToolCalls.writeCall({ name: "no_such_tool", arguments: {} })
  const twice = script.turns.findIndex(({ expected }) => expected.length > 0)
  return [
    episodeOf(script, []),
    changed(0, ""),
    changed(last, script.turns[last]!.expected.length > 0 ? "I will do that." : call),
    changed(last, `${answers[last]!}\n${call}`),
    changed(0, `<think>${answers[0]!}</think>`),
    ...(twice === -1 ? [] : [changed(twice, `${answers[twice]!}\n${answers[twice]!}`)])
  ]
}
