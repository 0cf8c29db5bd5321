/**
 * Plans journeys with tools, over several turns: after each user message the policy makes the calls of the plan, or
 * answers in words if it makes none.
 *
 * The conversation continues regardless of the policy's answers, which stay in the chat; no tool is run. Score: the
 * mean over the turns of `CallScores`: 0.5 · F1 of the names of its calls, 0.3 · F1 of their arguments, 0.1 for
 * readable calls and 0.1 for all the right names, each a component; `precision`, `recall` and `exact` are also
 * reported. Conversations are generated, or rows in the layout of capitalone/T1 (arXiv:2505.16986). Behaviour:
 * t1_tool_planning of the original.
 */
import { Columns, Dataset, Environment, Message, ServerManager, ToolCalls, type Trajectory } from "@atropos/core"
import * as Budget from "../kit/Budget.ts"
import * as ItemSource from "../kit/ItemSource.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Option, Result, Schema, Stream } from "effect"
import * as Scripted from "../tools/Scripted.ts"
import * as CallScores from "./CallScores.ts"
import * as Conversation from "./Conversation.ts"
import * as Requests from "./Requests.ts"
import { tools } from "./Tools.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("capitalone/T1/train"),
  idColumn: Environment.field(Schema.NonEmptyString, "ID", "column with the conversation a row belongs to"),
  textColumn: Environment.field(
    Schema.NonEmptyString,
    "Filled_Template",
    'column with the message, beginning with "user:" or "assistant:"'
  ),
  planColumn: Environment.field(Schema.NonEmptyString, "Filled_Plan", "column with the plan, as Python"),
  maxTurns: Environment.field(positive, 8, "turns of the user that are played; longer conversations are cut"),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per turn"),
  maxSeconds: Environment.field(positive, 300, "time limit per conversation, in seconds")
})

type Settings = Parameters<typeof settings.encode>[0]
type Item = Conversation.Conversation

const asText: Columns.Kind<string> = {
  expected: "a text or a number",
  read: (value) => {
    const written = value === null ? "" : Columns.asWritten(value)
    return typeof written === "string" ? written : undefined
  }
}

/** The conversations of a source; unreadable ones are skipped, and the first is reported with the reason. */
const conversationsOf = Effect.fnUntraced(function* (source: string, selected: Settings) {
  const columns = {
    id: { setting: "id_column", column: selected.idColumn, kind: asText },
    text: { setting: "text_column", column: selected.textColumn, kind: asText },
    plan: { setting: "plan_column", column: selected.planColumn, kind: asText }
  }
  const rows = yield* Columns.rowsAs(source, columns, (row) => Result.succeed<Conversation.Row>(row))
  const read = Conversation.grouped(rows).map((group) => ({ id: group[0]!.id, made: Conversation.ofRows(group) }))
  const conversations = read.flatMap(({ made }) => (Result.isSuccess(made) ? [made.success] : []))
  const failed = read.flatMap(({ id, made }) =>
    Result.isFailure(made) ? [`${source}, conversation ${id}: ${made.failure}`] : []
  )
  if (conversations.length === 0) {
    return yield* new Dataset.DatasetError({ source, message: failed[0] ?? `${source} has no conversations` })
  }
  if (failed.length > 0) {
    yield* Effect.logWarning("conversations skipped", {
      source,
      left: failed.length,
      of: read.length,
      first: failed[0]
    })
  }
  return conversations
})

const itemsOf = Effect.fnUntraced(function* (selected: Settings) {
  const { seed, source, testSource } = selected
  if (source === ItemSource.generated) {
    return ItemSource.drawn<Item>({
      ...selected,
      draw: (random) => Requests.draw(random, selected.maxTurns),
      key: ({ turns }) => turns.map(({ said: reply }) => reply).join("\n")
    })
  }
  const all = yield* conversationsOf(source, selected)
  if (testSource === null) {
    const { test, train } = Dataset.split(all, { seed, testFraction: all.length > 1 ? 0.1 : 0 })
    return { items: Dataset.shuffle(train, { seed }), heldOut: Stream.fromArray(test) }
  }
  const test = yield* conversationsOf(testSource, selected)
  return { items: Dataset.shuffle(all, { seed }), heldOut: Stream.fromArray(test) }
})

/** The messages after the model's calls: an acknowledgement of each, and the next user message. */
const replies = (answer: Message.Message, next: Conversation.Turn | undefined): ReadonlyArray<Message.Message> => [
  ...(answer.tool_calls ?? []).map(({ function: { name }, id }): Message.Message => ({
    role: "tool",
    name,
    content: "done",
    ...(id !== undefined && { tool_call_id: id })
  })),
  ...(next === undefined ? [] : [Message.user(next.said)])
]

const play = Effect.fn("TravelPlanning.play")(function* (
  item: Item,
  { limits, ...sampling }: ServerManager.SamplingOptions & { readonly limits: Budget.Limits }
) {
  const servers = yield* ServerManager.ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  const { turns } = item
  let messages = [...Conversation.opening(item), Message.user(turns[0].said)]
  for (const [index] of turns.entries()) {
    const answer = yield* budget.turn(session, { messages, tools, ...sampling })
    if (Option.isNone(answer)) break
    const { message } = answer.value
    messages = [...messages, message, ...replies(message, turns[index + 1])]
  }
  // If a template rewrote the chat, the last sequence contains the most of it.
  const trajectory = (yield* session.trajectories).at(-1)
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  return trajectory === undefined ? undefined : { ...trajectory, messages: messages.slice(0, last + 1) }
}, Effect.scoped)

/** The calls of an answer, including unreadable ones in its text. */
const callsOf = (answer: Message.Message): ReadonlyArray<ToolCalls.Call | undefined> => {
  const read = Scripted.callsOf(answer)
  if ((answer.tool_calls ?? []).length > 0) return read
  const opened = Thinking.visibleText(Message.text(answer)).split("<tool_call>").length - 1
  return [...read, ...Array.from({ length: Math.max(0, opened - read.length) }, () => undefined)]
}

/** Components of an episode: means over the turns; an unanswered turn has zeros. */
export const componentsOf = (item: Item, { messages }: Pick<Trajectory.Trajectory, "messages">) => {
  const answers = messages.slice(Conversation.opening(item).length).filter(({ role }) => role === "assistant")
  return CallScores.mean(
    item.turns.map(({ expected }, index) => {
      const answer = answers[index]
      return answer === undefined ? CallScores.nothing : CallScores.ofTurn(expected, callsOf(answer))
    })
  )
}

/** The episode that these answers would have given. */
export const episodeOf = (item: Item, answers: ReadonlyArray<string>): Trajectory.Trajectory => {
  const chat = item.turns.flatMap(({ said: reply }, index) =>
    index < answers.length ? [Message.user(reply), Message.assistant(answers[index]!)] : []
  )
  const text = answers.join("")
  return {
    messages: [...Conversation.opening(item), ...chat],
    completion: answers.at(-1) ?? "",
    finishReason: "stop",
    tokens: Int32Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)),
    mask: new Uint8Array(text.length).fill(1)
  }
}

const answersOf = ({ turns }: Item, change: (calls: ReadonlyArray<ToolCalls.Call>) => ReadonlyArray<ToolCalls.Call>) =>
  turns.map(({ expected }) =>
    expected.length === 0 ? "With pleasure." : change(expected).map(ToolCalls.writeCall).join("\n")
  )

const needless = ToolCalls.writeCall({ name: "get_results_from_cache", arguments: { key: "trains" } })

const claims = {
  scoreRange: [0, 1] as const,
  gold: (item: Item) => [
    episodeOf(
      item,
      answersOf(item, (calls) => calls)
    ),
    episodeOf(
      item,
      answersOf(item, (calls) => calls.toReversed()).map((answer) => `<think>What now?</think>${answer}`)
    )
  ],
  wrong: (item: Item) => {
    const right = answersOf(item, (calls) => calls)
    return [
      [],
      right.slice(1),
      item.turns.map(({ expected }) => (expected.length === 0 ? needless : "I will see.")),
      right.map((answer) => `${answer}\n${needless}`),
      right.map((answer) => `${answer}\n<tool_call>{"name": "search_hotels", "arguments": [}</tool_call>`),
      item.turns.map(() => needless)
    ].map((answers) => episodeOf(item, answers))
  }
}

export const layer = Environment.layer("travel-planning", settings, (selected) =>
  Effect.gen(function* () {
    const { groupSize, maxAnswerTokens, maxSeconds, maxTokenLength, maxTurns } = selected
    const servers = yield* ServerManager.ServerManager
    const source = yield* itemsOf(selected)
    const cut = (item: Item): Item => ({ ...item, turns: [item.turns[0], ...item.turns.slice(1, maxTurns)] })
    const episodes = (item: Item, count: number, split: "train" | "eval") =>
      Effect.forEach(
        Array.from({ length: count }),
        () =>
          play(item, {
            limits: { turns: maxTurns, seconds: maxSeconds },
            maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
            split,
            temperature: split === "train" ? selected.temperature : selected.evalTemperature
          }),
        { concurrency: "unbounded" }
      ).pipe(
        Effect.map((played) => played.filter((one) => one !== undefined)),
        Effect.provideService(ServerManager.ServerManager, servers)
      )
    return {
      items: (cursor: number) => Stream.map(source.items(cursor), cut),
      collectTrajectories: (item: Item) => episodes(item, groupSize, "train"),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map((episode) => ({ rewards: componentsOf(item, episode) }))),
      components: CallScores.rule,
      evaluation: {
        items: Stream.map(source.heldOut, cut),
        collectTrajectories: (item: Item) => episodes(item, 1, "eval")
      },
      label: ({ turns }: Item) => turns.map(({ said: reply }) => reply).join(" / "),
      claims
    }
  })
)
