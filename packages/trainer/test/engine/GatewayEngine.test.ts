/** SDKs of three dialects, Mastra among them, in one session over the real engine: its ids and logprobs are trained. */
import Anthropic from "@anthropic-ai/sdk"
import { assert, layer } from "@effect/vitest"
import { Message, ServerManager, Tokenizer } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { Agent } from "@mastra/core/agent"
import { Context, Effect, Layer } from "effect"
import OpenAI from "openai"
import * as TokenLog from "../../../core/test/gateway/TokenLog.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Model from "../../src/model/Model.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as PolicyBackend from "../../src/server/PolicyBackend.ts"

const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join("")
const model = TinyModel.make({ characters: `${printable}\n`, seed: 1, maxPositions: 1024 })

const base = Layer.mergeAll(
  Engine.layer({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "initial", policyVersion: 3, parameters: model.initial },
    device: "cpu",
    settings: { maxRows: 8, maxWaiting: 8 }
  }),
  Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
)

/** What a client says to a chat, in the SDK's own words; the last letter of an answer is what the next one stops at. */
type Say = (session: Gateway.Session, chat: ReadonlyArray<Message.Message>, stop: string) => Promise<string>

const roles = (chat: ReadonlyArray<Message.Message>) =>
  chat.map((message) => {
    const content = Message.text(message)
    return message.role === "assistant" ? { role: "assistant" as const, content } : { role: "user" as const, content }
  })

const openai = ({ apiKey, baseURL }: Gateway.Session) => new OpenAI({ apiKey, baseURL })
const anthropic = ({ anthropicBaseURL, apiKey }: Gateway.Session) =>
  new Anthropic({ apiKey, baseURL: anthropicBaseURL })
const most = 16

const ways: ReadonlyArray<Say> = [
  async (session, chat, stop) => {
    const request = { model: "any", messages: roles(chat), max_tokens: most, stop }
    return (await openai(session).chat.completions.create(request)).choices[0]!.message.content ?? ""
  },
  async (session, chat, stop) => {
    const request = { model: "any", messages: roles(chat), max_tokens: most, stop_sequences: [stop] }
    const { content } = await anthropic(session).messages.create(request)
    return content.map((block) => (block.type === "text" ? block.text : "")).join("")
  },
  async (session, chat) => {
    const request = { model: "any", input: roles(chat), max_output_tokens: most }
    return (await openai(session).responses.create(request)).output_text
  },
  async (session, chat, stop) => {
    const request = { model: "any", messages: roles(chat), max_tokens: most, stop_sequences: [stop] }
    const { content } = await anthropic(session).messages.stream(request).finalMessage()
    return content.map((block) => (block.type === "text" ? block.text : "")).join("")
  },
  async ({ apiKey, baseURL }, chat, stop) => {
    const agent = new Agent({
      id: "mastra",
      name: "mastra",
      instructions: "",
      model: { id: "gateway/any", url: baseURL, apiKey }
    })
    const { text } = await agent.generate(roles(chat), {
      modelSettings: { maxOutputTokens: most, stopSequences: [stop] }
    })
    return text
  }
]

layer(base, { excludeTestServices: true })("a session over the real engine", (it) => {
  it.effect("has the engine's own ids of every answer, whichever SDK asked", () =>
    Effect.gen(function* () {
      const backend = yield* PolicyBackend.make({ modelName: "tiny", maxSequenceTokens: 1024 })
      const { backend: logged, log } = TokenLog.make(backend)
      const servers = ServerManager.layerBackends([logged]).pipe(
        Layer.provide(Layer.succeed(Tokenizer.Tokenizer, model.tokenizer))
      )
      const context = yield* Layer.build(Layer.provide(Gateway.layer(), servers))
      const { open } = Context.get(context, Gateway.Gateway)
      yield* Effect.forEach(
        ways.map((_, at) => at),
        Effect.fnUntraced(function* (first) {
          const session = yield* open({ seed: first })
          const chat: Array<Message.Message> = [Message.user("abc?")]
          const answers: Array<string> = []
          for (let turn = 0; turn < ways.length; turn++) {
            const stop = answers.at(-1)?.at(-1) ?? "~"
            const say = ways[(first + turn) % ways.length]!
            const said = yield* Effect.promise(() => say(session, chat, stop))
            answers.push(said)
            chat.push(Message.assistant(said), Message.user(`${turn}?`))
          }
          const [trajectory, ...others] = yield* session.trajectories
          assert.strictEqual(others.length, 0)
          assert.strictEqual(TokenLog.difference(trajectory!, log), undefined)
          assert.strictEqual(trajectory!.policyVersion, 3)
          assert.include(yield* session.counts, { extended: ways.length - 1, rewritten: 0, branched: 0 })
          const sampled = log.filter(({ inputIds, tokens }) =>
            [...inputIds, ...tokens].every((id, at) => trajectory!.tokens[at] === id)
          )
          assert.deepStrictEqual(
            sampled.flatMap(({ logprobs }) => Array.from(Float32Array.from(logprobs))),
            Array.from(trajectory!.logprobs!).filter((_, at) => trajectory!.mask[at] === 1)
          )
        }),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(log.length, ways.length ** 2)
    })
  )
})
