/** The agents of docs/agents.md, each run against a policy that follows a script. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, Message, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Option, References, Stream } from "effect"
import { readdirSync } from "node:fs"
import * as PageCode from "./PageCode.ts"

type AgentLayer = Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager | Dataset.Dataset>

/** The first group that an agent of the page makes with the policy: two sessions. */
const rolledOut = (name: string, script: ServerManager.Script) =>
  Effect.gen(function* () {
    const module: { readonly default: (settings: { readonly groupSize: number }) => AgentLayer } =
      yield* Effect.promise(() => import(PageCode.file("agents.md", name)))
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

describe("the agents of docs/agents.md", () => {
  it("are all here", () => {
    for (const name of readdirSync(new URL("../agents", import.meta.url)).filter((one) => one.endsWith(".ts"))) {
      assert.include(PageCode.file("agents.md", name), name)
    }
  })

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

  for (const name of ["anthropic-agent.ts", "ai-sdk-anthropic-agent.ts", "ai-sdk-agent.ts", "langgraph-agent.ts"]) {
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
