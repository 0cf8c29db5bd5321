import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Message } from "../../src/trajectory/Message.ts"
import * as DialectClients from "./DialectClients.ts"
import * as TestGateway from "./TestGateway.ts"
import * as TokenLog from "./TokenLog.ts"

const words = Schema.Literals(["", "Why?", "Looking.\n\n", " 日本語 😀", '"quoted" \\ {', "x".repeat(40)])
const Call = Schema.Struct({
  name: Schema.Literals(["search", "run"]),
  input: Schema.Record(Schema.Literals(["q", "10", "2", "nested"]), Schema.Json)
})
/** A request: after which answer it comes, what is asked, in which dialect, and what the policy says to it. */
const Step = Schema.Struct({
  after: Schema.Natural,
  question: words,
  dialect: Schema.Literals([0, 1, 2]),
  thinking: words,
  content: words,
  calls: Schema.Array(Call).check(Schema.isMaxLength(2))
})
type Step = typeof Step.Type

const tools: ReadonlyArray<DialectClients.ToolOfTests> = [
  { name: "search", description: "Finds.", schema: { type: "object", properties: { q: { type: "string" } } } },
  { name: "run", description: "Runs.", schema: { type: "object" } }
]

/** As a model writes it; no two answers are alike, so that each is found in one sequence. */
const written = ({ calls, content, thinking }: Step, index: number): string =>
  (thinking === "" ? "" : `<think>\n${thinking}\n</think>\n\n`) +
  `${index}. ${content}` +
  calls.map(({ input, name }) => `\n${TestGateway.call(name, input)}`).join("")

/** The chat that a step asks about: an earlier one with its answer, what its calls gave, and the question. */
const chatOf = (step: Step, chats: ReadonlyArray<ReadonlyArray<Message>>): ReadonlyArray<Message> => {
  const before = chats[step.after % (chats.length + 1)] ?? [{ role: "system", content: "Answer." }]
  const calls = before.at(-1)?.tool_calls ?? []
  return [
    ...before,
    ...calls.map(({ id = "" }, at): Message => ({ role: "tool", content: `result ${at}`, tool_call_id: id })),
    { role: "user", content: `? ${step.question}` }
  ]
}

const withoutIds = (message: Message): Message =>
  Object.assign({}, message, {
    ...(message.tool_call_id !== undefined && { tool_call_id: "" }),
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map(({ function: { arguments: json, name } }) => [name, JSON.parse(json)])
    })
  })

/** Holds a conversation with a gateway of its own, and gives what was recorded. */
const held = (steps: ReadonlyArray<Step>, dialectOf: (step: Step) => number) =>
  TestGateway.use({ script: steps.map(written) }, ({ gateway, log }) =>
    Effect.gen(function* () {
      const session = yield* gateway.open()
      const chats: Array<ReadonlyArray<Message>> = []
      for (const step of steps) {
        const client = DialectClients.all[dialectOf(step)]!
        const chat = chatOf(step, chats)
        const { status, text } = yield* TestGateway.post(
          `${session.baseURL}${client.path}`,
          client.request(chat, tools)
        )
        assert.strictEqual(status, 200, text)
        chats.push([...chat, client.read(JSON.parse(text))])
      }
      const trajectories = yield* session.trajectories
      for (const trajectory of trajectories) assert.strictEqual(TokenLog.difference(trajectory, log), undefined)
      // What was asked again and not gone on from is left out.
      for (const count of TokenLog.coverage(trajectories, log)) assert.isAtMost(count, 1)
      return {
        chats: chats.map((chat) => chat.map(withoutIds)),
        sequences: trajectories.map(({ mask, messages, tokens }) => ({
          tokens: Array.from(tokens),
          mask: Array.from(mask),
          messages: messages?.map(withoutIds)
        })),
        counts: { ...(yield* session.counts), ignored: {} }
      }
    })
  )

describe("a tree of conversations", () => {
  it.live.prop(
    "held in random dialects is recorded with the messages and ids of one that is held in a single dialect",
    [Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(6))],
    ([steps]) =>
      Effect.gen(function* () {
        const single = yield* held(steps, () => 0)
        const mixed = yield* held(steps, ({ dialect }) => dialect)
        assert.deepStrictEqual(mixed, single)
      }),
    { arbitrary: { runs: 25 } }
  )
})
