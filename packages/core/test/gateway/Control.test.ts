import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import OpenAI from "openai"
import * as TestGateway from "./TestGateway.ts"

const { call, post } = TestGateway

const asked = (text: string): OpenAI.ChatCompletionMessageParam => ({ role: "user", content: text })

const bodyOf = (text: string) => JSON.parse(text) as { readonly [key: string]: unknown }

describe("the gateway without an environment", () => {
  it.live("opens sessions for other programs, tells what they recorded, and closes them", () =>
    TestGateway.use({ script: ["yes"], isControlled: true }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const opened = yield* post(`${gateway.url}/sessions`, { defaults: { temperature: 0.5 }, seed: 3 })
        assert.strictEqual(opened.status, 201)
        const { api_key: apiKey, base_url: baseURL, id, reward_url: rewards } = bodyOf(opened.text)
        const openai = new OpenAI({ apiKey: String(apiKey), baseURL: String(baseURL) })
        yield* Effect.promise(() => openai.chat.completions.create({ model: "any", messages: [asked("Hi")] }))
        yield* post(String(rewards), { reward: 0.5 })
        const ask = (method: string) =>
          Effect.promise(async () => {
            const answer = await fetch(`${gateway.url}/sessions/${String(id)}`, { method })
            return { status: answer.status, text: await answer.text() }
          })
        for (const method of ["GET", "DELETE"]) {
          const { sequences, ...recorded } = bodyOf((yield* ask(method)).text)
          assert.deepInclude(recorded, { id, rewards: [{ rewards: { reward: 0.5 } }] })
          const [first] = sequences as [{ readonly tokens: ReadonlyArray<number> }]
          assert.deepStrictEqual(first.tokens, [...log[0]!.inputIds, ...log[0]!.tokens])
        }
        assert.strictEqual((yield* ask("GET")).status, 404)
        const over = yield* post(`${String(baseURL)}/chat/completions`, { messages: [asked("Hi")] })
        assert.strictEqual(over.status, 404)
        const misspelt = yield* post(`${gateway.url}/sessions`, { defaults: { temprature: 1 } })
        assert.strictEqual(misspelt.status, 400)
        assert.match(misspelt.text, /temprature/)
      })
    )
  )

  it.live("asks for its token, where it has one, for everything but a session's own URL", () =>
    TestGateway.use(
      { script: ["yes"], isControlled: true, hasConversations: true, tokens: [Redacted.make("secret-token")] },
      ({ gateway }) =>
        Effect.gen(function* () {
          const { baseURL } = yield* gateway.open()
          const chat = { messages: [asked("Hi")] }
          assert.strictEqual((yield* post(`${baseURL}/chat/completions`, chat)).status, 200)
          for (const path of ["/sessions", "/v1/chat/completions", "/v1/messages", "/reward"]) {
            const { status, text } = yield* post(`${gateway.url}${path}`, chat)
            assert.strictEqual(status, 401, text)
          }
          const bearer = { authorization: "Bearer secret-token" }
          assert.strictEqual((yield* post(`${gateway.url}/sessions`, {}, bearer)).status, 201)
          assert.strictEqual((yield* post(`${gateway.url}/v1/chat/completions`, chat, bearer)).status, 200)
        })
    )
  )

  it.live("makes of each conversation a session, with its branches, and ends it with its reward", () => {
    const ended: Array<{ readonly chats: number; readonly last: string; readonly rewards: unknown }> = []
    return TestGateway.use(
      {
        script: [call("look", { at: { b: 1, a: "x  y" } }), "hello Bob", "it is there", "it is elsewhere"],
        hasConversations: true,
        onEnd: (session) =>
          Effect.gen(function* () {
            const trajectories = yield* session.trajectories
            ended.push({
              chats: trajectories.length,
              last: trajectories.at(-1)?.completion ?? "",
              rewards: yield* session.rewards
            })
          }).pipe(Effect.orDie)
      },
      ({ gateway }) =>
        Effect.gen(function* () {
          const openai = new OpenAI({ apiKey: "any", baseURL: `${gateway.url}/v1` })
          const tools: Array<OpenAI.ChatCompletionTool> = [{ type: "function", function: { name: "look" } }]
          const ask = (messages: Array<OpenAI.ChatCompletionMessageParam>) =>
            Effect.promise(() => openai.chat.completions.create({ model: "any", messages, tools }))
          const ann = [asked("I am Ann")]
          const {
            choices: [looked]
          } = yield* ask(ann)
          yield* ask([asked("I am Bob")])
          const [looking] = looked!.message.tool_calls ?? []
          const told = (content: string): Array<OpenAI.ChatCompletionMessageParam> => [
            ...ann,
            looked!.message,
            { role: "tool", tool_call_id: looking!.id, content }
          ]
          yield* ask(told("nothing"))
          const { id } = yield* ask(told("something"))
          const reward = yield* post(`${gateway.url}/reward`, { answer: id, rewards: { found: 1 } })
          assert.strictEqual(reward.status, 200)
          assert.strictEqual((yield* post(`${gateway.url}/reward`, { reward: 1 })).status, 400)
        })
    ).pipe(
      Effect.map(() => {
        // With the gateway all of its conversations end.
        assert.deepStrictEqual(
          ended.toSorted((a, b) => a.chats - b.chats),
          [
            { chats: 1, last: "hello Bob", rewards: [] },
            { chats: 2, last: "it is elsewhere", rewards: [{ rewards: { found: 1 } }] }
          ]
        )
      })
    )
  })
})
