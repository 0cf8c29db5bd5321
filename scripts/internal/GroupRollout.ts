/**
 * Rolls out a group of a built-in environment as in training, with a policy that answers from a script: the
 * environment's own gold and wrong answers (`claims`), or given answers if it has no claims.
 *
 * The policy is a server in this process; the environment calls it, judges its answers and makes the group as usual.
 */
import { Environment, Message, ServerManager, type ScoredGroup, type Trajectory } from "@atropos/core"
import { Effect, type Layer, Option, Stream } from "effect"

/** The answers of one rollout, turn by turn. */
export type Rollout = ReadonlyArray<string>

/** Text and calls of an answer, regardless of its format. */
const keyOf = ({ content, tool_calls: calls = [] }: Pick<Message.Message, "content" | "tool_calls">): string => {
  const text = typeof content === "string" ? content : ""
  const written = Array.from(text.matchAll(/<tool_call>([^]*?)<\/tool_call>/g), ([, call = ""]) => call)
  const made = calls.map(({ function: { arguments: given, name } }) => `{"name":"${name}","arguments":${given}}`)
  const words = text.replaceAll(/<tool_call>[^]*?<\/tool_call>/g, "").trim()
  return JSON.stringify([words, [...written, ...made].map((call) => call.replaceAll(/\s/g, ""))])
}

/**
 * A policy that plays these rollouts one after the other. A request is matched to its rollout by its chat; a finished
 * rollout repeats its last answer.
 */
export const policy = () => {
  let rollouts: ReadonlyArray<Rollout> = []
  const handedOut = new Set<string>()
  let base: number | undefined
  const at = (index: number, turn: number): string => rollouts[index]!.at(Math.min(turn, rollouts[index]!.length - 1))!
  const script = (request: ServerManager.ScriptedRequest): Effect.Effect<ReadonlyArray<string>> => {
    const before = "messages" in request ? request.messages.filter(({ role }) => role === "assistant") : []
    // Answers in the opening are not the policy's.
    base ??= before.length
    const said = before.slice(base).map(keyOf)
    const chosen = Array.from(rollouts.keys())
      .filter((index) => !handedOut.has(`${index} ${said.length}`))
      .filter((index) => said.every((key, turn) => key === keyOf({ content: at(index, turn) })))
      .slice(0, request.n ?? 1)
    if (chosen.length < (request.n ?? 1)) {
      return Effect.die(new Error(`the script has no rollout left that went ${said.join(", ") || "from the start"}`))
    }
    for (const index of chosen) handedOut.add(`${index} ${said.length}`)
    return Effect.succeed(chosen.map((index) => at(index, said.length)))
  }
  return {
    layer: ServerManager.layerScripted(script),
    says: (given: ReadonlyArray<Rollout>) => {
      rollouts = given
      handedOut.clear()
      base = undefined
    }
  }
}

/** Formats calls as a model writes them. */
const callsAsText = (calls: ReadonlyArray<Message.ToolCall>): string =>
  calls
    .map(
      ({ function: { arguments: given, name } }) => `<tool_call>{"name": "${name}", "arguments": ${given}}</tool_call>`
    )
    .join("\n")

const answersOf = ({ messages }: Trajectory.Trajectory): Rollout => {
  const first = messages[0]?.role === "assistant" ? 0 : messages.findIndex(({ role }) => role === "assistant")
  return messages
    .slice(first)
    .filter(({ role }) => role === "assistant")
    .map((message) => Message.text(message) + callsAsText(message.tool_calls ?? []))
}

/** One or two right answers and the wrong ones: all different, up to the figure's maximum. */
const claimed = ({ gold, wrong }: Environment.ClaimedItem, most: number): ReadonlyArray<Rollout> => {
  const right = gold.slice(0, wrong.length > most - 2 ? 1 : 2)
  // An empty wrong answer shows little.
  const others = wrong.filter(({ completion }) => completion.trim() !== "")
  return [...right, ...(others.length === 0 ? wrong : others)].slice(0, most).map(answersOf)
}

/** Maximum number of items tried for one whose answers get different scores. */
const mostItems = 20

/**
 * The groups of the first item whose first group has different scores; of the first item if none does. `build` makes
 * the environment again for each item, with as many rollouts as answers.
 */
export const groups = Effect.fn("GroupRollout.groups")(function* <E, R>(
  build: (policy: Layer.Layer<ServerManager.ServerManager>, size: number) => Layer.Layer<Environment.Environment, E, R>,
  most: number,
  given?: ReadonlyArray<Rollout>
) {
  const { layer, says } = policy()
  const rolledOut = (size: number, item?: { readonly id: string }) =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const found = yield* work(0).pipe(
        Stream.filter(({ id }) => item === undefined || id === item.id),
        Stream.runHead
      )
      return (yield* Option.getOrThrow(found).rollOut).groups
    }).pipe(Effect.provide(build(layer, size)))
  if (given !== undefined) {
    const shown = given.slice(0, most)
    says(shown)
    return yield* rolledOut(Math.max(1, shown.length))
  }
  const items = yield* Effect.flatMap(Environment.Environment, ({ claims }) =>
    Option.getOrThrow(claims).items.pipe(Stream.take(mostItems), Stream.runCollect)
  ).pipe(Effect.provide(build(layer, most)))
  let first: ReadonlyArray<ScoredGroup.ScoredGroup> = []
  for (const item of items) {
    const rollouts = claimed(item, most)
    says(rollouts)
    const found = yield* rolledOut(rollouts.length, item)
    if (new Set(found[0]?.scores).size > 1) return found
    if (first.length === 0) first = found
  }
  return first
})
