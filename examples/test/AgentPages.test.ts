/** The agents of docs/agents.md and of README's first screen, each run against a policy that follows a script. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, Message, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Option, References, Stream } from "effect"
import { readdirSync } from "node:fs"
import * as PageCode from "./PageCode.ts"

type AgentLayer = Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager | Dataset.Dataset>

const page = "docs/agents.md"

/** The first group that an agent of a page makes with the policy: two sessions. */
const rolledOut = (name: string, script: ServerManager.Script, file = PageCode.file(page, name)) =>
  Effect.gen(function* () {
    const module: { readonly default: (settings: { readonly groupSize: number }) => AgentLayer } =
      yield* Effect.promise(() => import(file))
    const servers = Layer.provide(ServerManager.layerScripted(script), Tokenizer.layerBytes)
    const layer = Layer.provide(module.default({ groupSize: 2 }), [servers, Dataset.layer])
    const first = Effect.flatMap(Environment.Environment, ({ work }) =>
      Effect.flatMap(Stream.runHead(work(0)), (one) => Option.getOrThrow(one).rollOut)
    )
    const { groups } = yield* Effect.provide(first, layer)
    return groups[0]!
  }).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))

const call = (name: string, value: unknown): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: value })}\n</tool_call>`

/** The text of a chat's first and last message. */
const heard = (request: Parameters<Extract<ServerManager.Script, Function>>[0]) => {
  const messages = "messages" in request ? request.messages : []
  const [first] = messages
  return { instructions: first === undefined ? "" : Message.text(first), last: messages.at(-1) }
}

/** Looks up what it is asked for, then says it. */
const clerk: ServerManager.Script = (request) => {
  const { last } = heard(request)
  const said = last === undefined ? "" : Message.text(last)
  if (last?.role === "tool" && /^\d+$/.test(said)) return `There are ${said}.`
  return call("stock", { fruit: "apples" })
}

const support = "support-agent.ts"

describe("the agents of docs/agents.md", () => {
  it("are all here, and no code but theirs is in the page", () => {
    const files = readdirSync(new URL("../agents", import.meta.url)).filter((one) => one.endsWith(".ts"))
    for (const name of files) assert.include(PageCode.file(page, name), name)
    assert.sameMembers(PageCode.names(page).slice(), [...files, support])
  })

  it.live(`${support}, as the page and README's first screen have it`, () =>
    Effect.gen(function* () {
      const file = PageCode.file("README.md", support, "support/")
      assert.strictEqual(PageCode.file(page, support, "support/"), file)
      const { messages, rewards } = yield* rolledOut(support, () => "At 9, for 30 days, for 4 euros.", file)
      assert.deepStrictEqual(rewards, [
        { correct: 1, brief: 1 },
        { correct: 1, brief: 1 }
      ])
      assert.deepStrictEqual(
        messages?.[0]?.map(({ role }) => role),
        ["system", "user", "assistant"]
      )
    })
  )

  it.live("an environment of plain functions", () =>
    Effect.gen(function* () {
      const { messages, scores } = yield* rolledOut("doubles.ts", (request) => {
        const [, n = "0"] = /What is (\d+)/.exec(heard(request).instructions) ?? []
        return `It is ${2 * Number(n)}.`
      })
      assert.deepStrictEqual(Array.from(scores ?? []), [1, 1])
      assert.strictEqual(messages?.[0]?.length, 2)
    })
  )

  it.live("OpenAI's SDK", () =>
    Effect.gen(function* () {
      const { messages, rewards, scores } = yield* rolledOut("openai-agent.ts", clerk)
      assert.deepStrictEqual(Array.from(scores ?? []), [2, 2])
      assert.deepStrictEqual(rewards?.[0], { correct: 1, brief: 1 })
      assert.deepStrictEqual(
        messages?.map((chat) => chat.map(({ role }) => role)),
        Array.from({ length: 2 }, () => ["system", "user", "assistant", "tool", "assistant"])
      )
    })
  )

  it.live("effect/ai", () =>
    Effect.gen(function* () {
      const { messages, scores } = yield* rolledOut("effect-ai-agent.ts", clerk)
      assert.deepStrictEqual(Array.from(scores ?? []), [1, 1])
      assert.deepStrictEqual(
        messages?.[0]?.map(({ role }) => role),
        ["user", "assistant", "tool", "assistant"]
      )
    })
  )

  it.live("OpenAI's Agents SDK", () =>
    Effect.gen(function* () {
      const { messages } = yield* rolledOut("agents-sdk-agent.ts", (request) =>
        heard(request).instructions.startsWith("Hand") ? call("transfer_to_clerk", {}) : clerk(request)
      )
      // A sequence of each agent, twice.
      const last = messages?.map((chat) => chat.at(-1)) ?? []
      assert.strictEqual(last.filter((one) => one?.content === "There are 12.").length, 2)
      assert.strictEqual(last.filter((one) => one?.tool_calls?.[0]?.function.name === "transfer_to_clerk").length, 2)
    })
  )

  for (const name of [
    "anthropic-agent.ts",
    "ai-sdk-anthropic-agent.ts",
    "ai-sdk-agent.ts",
    "ai-sdk-loop-agent.ts",
    "langgraph-agent.ts",
    "mastra-agent.ts"
  ]) {
    it.live(`${name} goes on with what its tool says`, () =>
      Effect.gen(function* () {
        const { messages, scores } = yield* rolledOut(name, clerk)
        assert.deepStrictEqual(Array.from(scores ?? []), [1, 1])
        assert.deepStrictEqual(
          messages?.map((chat) => chat.map(({ role }) => role)),
          Array.from({ length: 2 }, () => ["system", "user", "assistant", "tool", "assistant"])
        )
      })
    )
  }
})
