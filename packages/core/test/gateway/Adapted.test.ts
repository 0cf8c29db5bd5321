/** What the gateway makes of requests that its model cannot take as they are, and which of them are trained. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Gateway from "../../src/gateway/Gateway.ts"
import * as Trained from "../../src/gateway/session/Trained.ts"
import type { Backend } from "../../src/inference/backend/Backend.ts"
import * as Scripted from "../../src/inference/backend/Scripted.ts"
import * as ServerManager from "../../src/inference/ServerManager.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import * as RoleChats from "../inference/RoleChats.ts"
import * as TestGateway from "./TestGateway.ts"

const { call, post } = TestGateway

/** Refuses a system message that is not first, as those of Qwen 3.5. */
const strict =
  '{% for m in messages %}{% if m.role == "system" and not loop.first %}{{ raise_exception("first only") }}{% endif %}' +
  "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"

const use = <A, E>(
  options: {
    readonly script: Scripted.Script
    readonly tokenizer?: Tokenizer.TokenizerShape
    readonly contextLength?: number
    readonly session?: Gateway.SessionOptions
  },
  test: (session: Gateway.Session) => Effect.Effect<A, E>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const tokenizer = options.tokenizer ?? Tokenizer.bytes
      const { contextLength } = options
      const backend: Backend = {
        ...Scripted.make(options.script, tokenizer),
        ...(contextLength !== undefined && { contextLength })
      }
      const servers = ServerManager.layerBackends([backend], { maxAttempts: 1 }).pipe(
        Layer.provide(Layer.succeed(Tokenizer.Tokenizer, tokenizer))
      )
      const context = yield* Layer.build(Layer.provide(Gateway.layer(), servers))
      const gateway = yield* Effect.provideContext(Gateway.Gateway, context)
      return yield* test(yield* gateway.open(options.session))
    })
  )

const user = (content: unknown) => ({ role: "user", content })
const ask = (session: Gateway.Session, body: object) =>
  Effect.map(post(`${session.anthropicBaseURL}/v1/messages`, { model: "any", max_tokens: 64, ...body }), (answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    return JSON.parse(answer.text) as { readonly content: ReadonlyArray<unknown> }
  })

const look = { name: "look", input_schema: { type: "object", properties: {} } }

describe("a request that a model cannot take as it is", () => {
  it.live("has its later system messages in the user's text if the template refuses them, and is extended", () =>
    use({ script: ["yes", "no"], tokenizer: RoleChats.tokenizerWith("strict", strict) }, (session) =>
      Effect.gen(function* () {
        const messages = [user("Is it there?"), { role: "system", content: "The folder is /box." }]
        const { content } = yield* ask(session, { system: "Be brief.", messages })
        yield* ask(session, {
          system: "Be brief.",
          messages: [...messages, { role: "assistant", content }, user("And here?")]
        })
        const counts = yield* session.counts
        assert.deepInclude(counts, { started: 1, extended: 1, rewritten: 0, adapted: { system_as_user: 2 } })
        const [trajectory] = yield* session.trajectories
        assert.deepStrictEqual(trajectory?.messages.slice(0, 2), [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Is it there?\n\nThe folder is /box." }
        ])
      })
    )
  )

  it.live("has a line of text for a picture if the model takes token ids only", () =>
    use({ script: ["A cat?", "A dog?"] }, (session) =>
      Effect.gen(function* () {
        const source = { type: "base64", media_type: "image/png", data: "AAAA" }
        const first = [
          user([
            { type: "text", text: "What is it?" },
            { type: "image", source }
          ])
        ]
        const { content } = yield* ask(session, { messages: first })
        yield* ask(session, { messages: [...first, { role: "assistant", content }, user("No.")] })
        assert.deepInclude(yield* session.counts, { extended: 1, adapted: { image_as_text: 2 } })
        const [trajectory] = yield* session.trajectories
        assert.deepStrictEqual(trajectory?.messages[0]?.content, "What is it?[An image, which this model cannot see.]")
      })
    )
  )

  it.live("gets what is left of the server's context, and an error in its dialect if nothing is", () => {
    const asked: Array<number | undefined> = []
    const script: Scripted.Script = ({ maxTokens }) => {
      asked.push(maxTokens)
      return "yes"
    }
    return use({ script, contextLength: 100 }, (session) =>
      Effect.gen(function* () {
        assert.strictEqual(session.contextLength, 100)
        yield* ask(session, { messages: [user("Is it there?")], max_tokens: 32_000 })
        const [trajectory] = yield* session.trajectories
        const promptTokens = trajectory!.mask.indexOf(1)
        assert.deepStrictEqual(asked, [100 - promptTokens])
        assert.deepStrictEqual((yield* session.counts).adapted, { max_tokens_cut: 1 })
        const { status, text } = yield* post(`${session.anthropicBaseURL}/v1/messages`, {
          model: "any",
          max_tokens: 9,
          messages: [user("x".repeat(100))]
        })
        assert.strictEqual(status, 400)
        assert.match(text, /prompt is too long: .*the server's context has 100 tokens/)
      })
    )
  })

  it.live("is not encoded as a whole if its text is far beyond the server's context", () => {
    let longest = 0
    const tokenizer: Tokenizer.TokenizerShape = {
      ...Tokenizer.bytes,
      encode: (text, options) => {
        longest = Math.max(longest, text.length)
        return Tokenizer.bytes.encode(text, options)
      }
    }
    return use({ script: () => "yes", tokenizer, contextLength: 100 }, (session) =>
      Effect.gen(function* () {
        const { status, text } = yield* post(`${session.anthropicBaseURL}/v1/messages`, {
          model: "any",
          max_tokens: 9,
          messages: [user("x".repeat(1_000_000))]
        })
        assert.strictEqual(status, 400)
        assert.match(text, /prompt is too long: .*the server's context has 100 tokens/)
        assert.isBelow(longest, 10_000)
      })
    )
  })
})

describe("a session that trains requests with tools", () => {
  it.live("records the others, and those for another model, without training them, and has one sequence", () =>
    use(
      {
        script: ["A title", call("look", {}), "It is there.", "[suggestion]", "Another title"],
        session: { trained: Trained.by.tools }
      },
      (session) =>
        Effect.gen(function* () {
          const question = [user("Is it there?")]
          yield* ask(session, { messages: [user("Give it a title.")] })
          const first = yield* ask(session, { messages: question, tools: [look] })
          const [use] = first.content as ReadonlyArray<{ readonly id: string }>
          const second = [
            ...question,
            { role: "assistant", content: first.content },
            user([{ type: "tool_result", tool_use_id: use!.id, content: "yes" }])
          ]
          const { content } = yield* ask(session, { messages: second, tools: [look] })
          yield* ask(session, { messages: [...second, { role: "assistant", content }, user("Suggest.")] })
          yield* ask(session, { model: "a-small-one", messages: [user("Give it a title.")], tools: [look] })
          assert.strictEqual((yield* session.counts).untrained, 3)
          const { leftOut, sequences } = yield* session.recording
          assert.deepStrictEqual(
            leftOut.map(({ reason }) => reason),
            ["untrained", "untrained", "untrained"]
          )
          assert.strictEqual(sequences.length, 1)
          assert.strictEqual(sequences[0]!.turns?.length, 2)
          assert.strictEqual(sequences[0]!.trajectory.completion, "It is there.")
        })
    )
  )

  it.live("ends a sequence at its last trained answer if an untrained one follows in the same chat", () =>
    use(
      {
        script: ["It is there.", "[suggestion]"],
        session: { trained: ({ messages }) => messages.at(-1)?.content !== "Suggest." }
      },
      (session) =>
        Effect.gen(function* () {
          const question = [user("Is it there?")]
          const { content } = yield* ask(session, { messages: question })
          yield* ask(session, { messages: [...question, { role: "assistant", content }, user("Suggest.")] })
          const trajectories = yield* session.trajectories
          assert.deepStrictEqual(
            trajectories.map(({ completion }) => completion),
            ["It is there."]
          )
          assert.include(yield* session.counts, { extended: 1, untrained: 1 })
        })
    )
  )
})
