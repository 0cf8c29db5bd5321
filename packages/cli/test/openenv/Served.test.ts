/** Our environments behind OpenEnv's protocol: sockets, HTTP, limits, and what goes wrong. */
import { assert, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import { writeFileSync } from "node:fs"
import * as InProcess from "../InProcess.ts"
import * as Client from "./SocketClient.ts"

const served = Effect.fn(function* (env: string, ...more: ReadonlyArray<string>) {
  yield* InProcess.folder
  const command = yield* InProcess.start(["openenv", "--env", env, "--port", "0", ...more])
  const [, url] = yield* command.says(/OpenEnv server at (http:\/\/\S+?),/)
  return url!
})

const call = (url: string, body?: unknown) =>
  Effect.promise(async () => {
    const answer = await fetch(url, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    return { status: answer.status, body: decode(await answer.json()) }
  })
const decode = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Any))

layer(NodeServices.layer, { excludeTestServices: true })("atropos openenv", (it) => {
  it.effect("plays a game over a socket, several at once, the same item for the same seed", () =>
    Effect.gen(function* () {
      const url = yield* served("taxi")
      const [one, two] = [yield* Client.open(url), yield* Client.open(url)]
      const first = yield* one.data("reset", { seed: 3, difficulty: "ignored" })
      assert.deepStrictEqual(yield* two.data("reset", { seed: 3 }), first)
      assert.match(first.observation.prompt, /You drive a taxi[^]*The taxi is at row 1, column 4/)
      assert.deepStrictEqual([first.reward, first.done], [null, false])
      const stepped = yield* one.data("step", { message: "<action>south</action>" })
      assert.match(stepped.observation.prompt, /^The taxi is at row 2, column 4/)
      assert.deepInclude(yield* one.data("state"), { step_count: 1 })
      assert.deepInclude(yield* two.data("state"), { step_count: 0 })
      let turn = stepped
      for (let count = 1; !turn.done; count++) {
        assert.isBelow(count, 31)
        turn = yield* one.data("step", { message: "<action>south</action>" })
      }
      assert.isBelow(turn.reward, 0)
      assert.deepInclude(yield* one.ask("step", { message: "" }), {
        type: "error",
        data: { code: "EXECUTION_ERROR", message: "the episode is over: call reset to start another one" }
      })
    })
  )

  it.effect("answers over HTTP by episode, and says what it is", () =>
    Effect.gen(function* () {
      const url = yield* served("arithmetic-stories", "--sessions", "2")
      assert.deepStrictEqual((yield* call(`${url}/health`)).body, { status: "healthy" })
      assert.strictEqual((yield* call(`${url}/metadata`)).body["name"], "arithmetic-stories")
      const { body: schema } = yield* call(`${url}/schema`)
      assert.deepStrictEqual(schema["action"].required, ["message"])
      assert.include(Object.keys(schema["observation"].properties), "prompt")
      assert.strictEqual((yield* call(`${url}/step`, { action: { message: "1" } })).status, 404)
      const one = yield* call(`${url}/reset`, { seed: 0, episode_id: "one" })
      const two = yield* call(`${url}/reset`, {})
      assert.strictEqual(one.body["metadata"].episode_id, "one")
      assert.deepInclude(yield* call(`${url}/reset`, {}), { status: 503 })
      assert.include((yield* call(`${url}/step`, { action: { message: "1" } })).body["detail"], 'give the "episode_id"')
      const wrong = yield* call(`${url}/step`, { action: { answer: "1" }, episode_id: "one" })
      assert.strictEqual(wrong.status, 422)
      assert.include(wrong.body["detail"][0].msg, '{"message": "what the policy says"}')
      const end = yield* call(`${url}/step`, { action: { message: "\\boxed{-7}" }, episode_id: "one" })
      assert.deepInclude(end.body, { reward: 0, done: true })
      const id = two.body["metadata"].episode_id
      assert.deepInclude((yield* call(`${url}/state?episode_id=${id}`)).body, { episode_id: id, step_count: 0 })
      assert.strictEqual((yield* call(`${url}/ws`)).status, 426)
    })
  )

  it.effect("offers tools as MCP environments do, by actions and by messages", () =>
    Effect.gen(function* () {
      const url = yield* served("mcp")
      const session = yield* Client.open(url)
      yield* session.data("reset", { seed: 1 })
      const { observation } = yield* session.data("step", { type: "list_tools" })
      const tools: ReadonlyArray<{ name: string; input_schema: { type: string } }> = observation["tools"]
      assert.includeMembers(
        tools.map(({ name }) => name),
        ["list_shelves"]
      )
      assert.strictEqual(tools[0]?.input_schema.type, "object")
      const called = yield* session.data("step", { type: "call_tool", tool_name: "list_shelves", arguments: {} })
      assert.isFalse(called.observation["result"].is_error)
      const none = yield* session.data("step", { type: "call_tool", tool_name: "none" })
      assert.match(none.observation["error"].message, /there is no tool none/)
      const listed = yield* session.data("mcp", { jsonrpc: "2.0", id: 7, method: "tools/list" })
      assert.strictEqual(listed["result"].tools.length, tools.length)
      const end = yield* session.data("step", { message: "<answer>nothing</answer>" })
      assert.deepStrictEqual([end.done, end.reward], [true, 0])
    })
  )

  it.effect("tells one session too many, and frees the place of one that leaves", () =>
    Effect.gen(function* () {
      const url = yield* served("taxi", "--sessions", "1")
      const one = yield* Client.open(url)
      yield* one.data("reset", {})
      const two = yield* Client.open(url)
      assert.deepStrictEqual(yield* two.next, {
        type: "error",
        data: {
          message: "Server at capacity: 1/1 sessions active. Cannot accept new connections.",
          code: "CAPACITY_REACHED",
          active_sessions: 1,
          max_sessions: 1
        }
      })
      yield* two.closed
      yield* one.send({ type: "close" })
      yield* one.closed
      const three = yield* Client.open(url)
      assert.isFalse((yield* three.data("reset", {})).done)
    })
  )

  it.effect("ends a session that is left alone, and says so", () =>
    Effect.gen(function* () {
      const session = yield* Client.open(yield* served("taxi", "--idle", "1"))
      yield* session.data("reset", {})
      const { data } = yield* session.next
      assert.deepStrictEqual(data, { code: "SESSION_ERROR", message: "no message for 1s: the session has ended" })
      yield* session.closed
    })
  )

  it.effect("refuses by name what cannot be stepped, at once or where it shows", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      writeFileSync("rows.jsonl", JSON.stringify({ question: "1 + 1?", answer: "2" }))
      const { code, stderr } = yield* InProcess.run(["openenv", "--env", "sft-loader", "--env.source", "rows.jsonl"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "sft-loader cannot be stepped from outside: it makes no requests to the policy")
      const stepwise = yield* InProcess.run(["openenv", "--env", "blackjack", "--env.mode", "stepwise"])
      assert.strictEqual(stepwise.code, 1)
      assert.include(stepwise.stderr, "blackjack cannot be stepped from outside: its episodes have no single reward")
    })
  )

  it.effect("shares a session between MCP over HTTP and a socket, as OpenEnv's MCP clients want it", () =>
    Effect.gen(function* () {
      const url = yield* served("mcp", "--sessions", "1")
      const mcp = (method: string, params: object = {}) =>
        Effect.map(call(`${url}/mcp`, { jsonrpc: "2.0", id: 1, method, params }), ({ body }) => body)
      const { session_id: id } = (yield* mcp("openenv/session/create"))["result"]
      assert.deepInclude((yield* mcp("openenv/session/create"))["error"], {
        code: -32000,
        data: { active_sessions: 1, max_sessions: 1 }
      })
      const inSession = { session_id: id, name: "list_shelves", arguments: {} }
      assert.include((yield* mcp("tools/call", inSession))["error"].message, "no episode is open: start one with reset")
      const socket = yield* Client.open(url, `?session_id=${id}`)
      yield* socket.data("reset", { seed: 1 })
      const { tools } = (yield* mcp("tools/list", { session_id: id }))["result"]
      assert.deepStrictEqual((yield* mcp("tools/list"))["result"], { tools })
      assert.isFalse((yield* mcp("tools/call", inSession))["result"].is_error)
      assert.deepInclude(yield* socket.data("state"), { step_count: 1 })
      assert.deepInclude((yield* (yield* Client.open(url, `?session_id=${id}`)).next).data, {
        code: "SESSION_ERROR",
        message: `Session ${id} already has an attached WebSocket`
      })
      assert.deepStrictEqual((yield* mcp("openenv/session/close", { session_id: id }))["result"], {
        session_id: id,
        closed: false,
        closing: true
      })
      yield* socket.send({ type: "close" })
      yield* socket.closed
      assert.include((yield* mcp("tools/list", { session_id: id }))["error"].message, "Unknown session_id")
      assert.isString((yield* mcp("openenv/session/create"))["result"].session_id)
      assert.strictEqual((yield* mcp("tools/call", { name: "list_shelves" }))["error"].code, -32602)
      assert.strictEqual((yield* mcp("prompts/list"))["error"].code, -32601)
      assert.strictEqual((yield* call(`${url}/mcp`, {})).body["error"].code, -32600)
      const { body: described } = yield* call(`${url}/openapi.json`)
      assert.includeMembers(Object.keys(described["paths"]), ["/reset", "/step", "/state", "/mcp"])
    })
  )
})
