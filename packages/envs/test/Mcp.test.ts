/** The `mcp` environment against MCP servers that run: our warehouse, and the reference server "everything". */
import { Dataset, Environment, Message, ServerManager, ToolCalls, type Trajectory } from "@atropos/core"
import { Toolbox, ToolEpisode } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { createRequire } from "node:module"
import * as Mcp from "../src/connected/Mcp.ts"
import * as McpTools from "../src/tools/McpTools.ts"
import * as Warehouse from "../src/tools/Warehouse.ts"

const everything: McpTools.Server = {
  command: process.execPath,
  args: [createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"]
}

const call = (name: string, args: unknown) => ({
  id: `call-${name}`,
  type: "function",
  function: { name, arguments: JSON.stringify(args) }
})

describe("McpTools", () => {
  it.live("offers and calls the tools of somebody else's server", () =>
    Effect.gen(function* () {
      const tools = yield* McpTools.make(everything, ["echo", "get-sum"])
      const toolbox = Toolbox.make(tools)
      assert.deepStrictEqual(
        toolbox.definitions.map((one) => one.function.name),
        ["echo", "get-sum"]
      )
      const answers = yield* toolbox.answer([call("get-sum", { a: 2, b: 40 }), call("echo", { message: "hello" })])
      assert.match(Message.text(answers[0]!.message), /42/)
      assert.match(Message.text(answers[1]!.message), /hello/)
      const [wrong] = yield* toolbox.answer([call("get-sum", { a: "two" })])
      assert.isFalse(wrong!.succeeded)
      assert.match(Message.text(wrong!.message), /^error: /)
    }).pipe(Effect.scoped)
  )

  it.live("a tool that the server has not is named, with those it has", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(McpTools.make(everything, ["fly"]))
      assert.match(error.message, /has no tool fly; it has .*echo/)
    }).pipe(Effect.scoped)
  )

  it.live("a server that cannot be started is an error that names it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(McpTools.make({ command: "/nowhere/server", args: ["x"] }))
      assert.match(error.message, /cannot connect to the MCP server \/nowhere\/server x/)
    }).pipe(Effect.scoped)
  )

  it.live("a server that ended is started anew for the next call", () =>
    Effect.gen(function* () {
      const script = `
        const { Server } = await import(${JSON.stringify(import.meta.resolve("@modelcontextprotocol/sdk/server/index.js"))})
        const { StdioServerTransport } = await import(${JSON.stringify(import.meta.resolve("@modelcontextprotocol/sdk/server/stdio.js"))})
        const types = await import(${JSON.stringify(import.meta.resolve("@modelcontextprotocol/sdk/types.js"))})
        const server = new Server({ name: "mortal", version: "1" }, { capabilities: { tools: {} } })
        server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: [{ name: "pid", inputSchema: { type: "object" } }] }))
        server.setRequestHandler(types.CallToolRequestSchema, ({ params }) => {
          if (params.arguments.die) process.exit(1)
          return { content: [{ type: "text", text: String(process.pid) }] }
        })
        await server.connect(new StdioServerTransport())`
      const tools = yield* McpTools.make({ command: process.execPath, args: ["--input-type=module", "-e", script] })
      const [pid] = tools
      const first = yield* pid!.run({})
      const died = yield* Effect.flip(pid!.run({ die: true }))
      assert.strictEqual(died._tag, "McpError")
      const second = yield* pid!.run({})
      assert.notStrictEqual(first, second)
    }).pipe(Effect.scoped)
  )
})

const tool = (content: string) => ({ role: "tool", content })

/** Asks for every shelf at once, then adds up what it was told. */
const counting = (request: ServerManager.ScriptedRequest): ServerManager.Completion => {
  const messages = "messages" in request ? request.messages : []
  const told = messages.filter(({ role }) => role === "tool").map(Message.text)
  const asked = Message.text(messages.find(({ role }) => role === "user")!)
  const article = /(bolts|clamps|gaskets|hinges|pulleys|valves)/.exec(asked)![1]!
  if (told.length > 0) return { text: `<answer>${told.reduce((sum, one) => sum + Number(one), 0)}</answer>` }
  const shelves = /shelf (\w+)/.exec(asked)?.slice(1) ?? ["north", "east", "south", "west"]
  const calls = shelves.map((shelf) => ToolCalls.writeCall({ name: "count", arguments: { article, shelf } }))
  return { text: calls.join("\n") }
}

describe("Mcp", () => {
  it.live("a model that asks the tools is right, over several turns, and its calls earn their turn", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const found = yield* Stream.runCollect(
        groups.pipe(
          Stream.filter(({ messages }) => !Message.text(messages![0]![1]!).includes("worth")),
          Stream.take(2)
        )
      )
      for (const { messages, scores } of found) {
        assert.deepStrictEqual(Array.from(scores), [1, 1])
        const roles = messages![0]!.map(({ role }) => role)
        assert.deepStrictEqual(roles.slice(0, 3), ["system", "user", "assistant"])
        assert.include(roles, "tool")
        assert.deepStrictEqual(ToolEpisode.turnRewards({ messages: messages![0]! }), [1, 1])
      }
    }).pipe(
      Effect.provide(
        Mcp.layer({ groupSize: 2, maxTokenLength: 20_000 }).pipe(
          Layer.provide([ServerManager.layerScripted(counting), Dataset.layerMemory({})])
        )
      )
    )
  )

  it("a call that was refused costs its turn, not the answer", () => {
    const asks = (count: number) => ({
      role: "assistant",
      content: "",
      tool_calls: Array.from({ length: count }, () => call("count", {}))
    })
    const episode = (answers: ReadonlyArray<string>): Pick<Trajectory.Trajectory, "messages"> => ({
      messages: [Message.user("?"), asks(answers.length), ...answers.map(tool), Message.assistant("<answer>7</answer>")]
    })
    assert.deepStrictEqual(ToolEpisode.turnRewards(episode(["3", "4"])), [1, 1])
    assert.deepStrictEqual(ToolEpisode.turnRewards(episode(["3", "error: no such article"])), [0.5, 1])
    assert.isTrue(Mcp.isRight({ answer: "7" }, episode(["error: x"])))
    assert.isFalse(Mcp.isRight({ answer: "8" }, episode(["3", "4"])))
  })

  it("questions about the warehouse have the answers its tools give", () => {
    const stock = Warehouse.make(3)
    assert.deepStrictEqual(Warehouse.make(3), stock)
    assert.strictEqual(stock.pieces.size, stock.articles.length * stock.shelves.length)
    assert.isUndefined(Warehouse.count(stock, "bolts", "attic"))
  })
})
