import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import OpenAI, { APIUserAbortError, BadRequestError } from "openai"
import { zodTextFormat } from "openai/helpers/zod"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const client = ({ apiKey, baseURL }: Gateway.Session) => new OpenAI({ apiKey, baseURL, maxRetries: 2 })

const weather: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: true
}

const climates: { readonly [city: string]: string } = { Oslo: "cold", Rome: "warm" }

/** What a program of the package does with an answer: runs its calls. */
const outputsOf = (
  output: ReadonlyArray<OpenAI.Responses.ResponseOutputItem>
): Array<OpenAI.Responses.ResponseInputItem> =>
  output.flatMap((item) => {
    if (item.type !== "function_call") return []
    const { city }: { readonly city: string } = JSON.parse(item.arguments)
    return [{ type: "function_call_output", call_id: item.call_id, output: climates[city] ?? "unknown" }]
  })

const script = [
  `Let me look. ${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
  "Cold in Oslo, warm in Rome.",
  call("weather", { city: "Bergen" }),
  "Nobody knows."
]

interface Question {
  readonly model: string
  readonly instructions: string
  readonly tools: Array<OpenAI.Responses.FunctionTool>
  readonly input: Array<OpenAI.Responses.ResponseInputItem>
  readonly previous_response_id: string | null
}

/** Asks until there are no more calls, with all items so far or with the previous response's id. */
const converse = async (
  questions: ReadonlyArray<string>,
  ask: (body: Question) => Promise<OpenAI.Responses.Response>,
  isShort: boolean
): Promise<ReadonlyArray<string>> => {
  const all: Array<OpenAI.Responses.ResponseInputItem> = []
  const answers: Array<string> = []
  let previous: string | null = null
  for (const question of questions) {
    let news: Array<OpenAI.Responses.ResponseInputItem> = [{ role: "user", content: question }]
    while (news.length > 0) {
      all.push(...news)
      const response = await ask({
        model: "any",
        instructions: "Be brief.",
        tools: [weather],
        input: isShort ? news : all,
        previous_response_id: isShort ? previous : null
      })
      previous = response.id
      // Its kinds of items are all kinds of input; the package's types differ in one that is not used here.
      all.push(...(response.output as Array<OpenAI.Responses.ResponseInputItem>))
      news = outputsOf(response.output)
      if (news.length === 0) answers.push(response.output_text)
    }
  }
  return answers
}

const questions = ["Weather in Oslo and Rome?", "And in Bergen?"]

describe("the gateway and the Responses of the openai package", () => {
  const ways: ReadonlyArray<readonly [string, (openai: OpenAI) => Parameters<typeof converse>[1], boolean]> = [
    ["plain, with all items", (openai) => (body) => openai.responses.create(body), false],
    ["plain, with the previous response", (openai) => (body) => openai.responses.create(body), true],
    ["streamed, with all items", (openai) => (body) => openai.responses.stream(body).finalResponse(), false],
    ["streamed, with the previous response", (openai) => (body) => openai.responses.stream(body).finalResponse(), true]
  ]
  for (const [way, ask, isShort] of ways) {
    it.live(`record turns with parallel tool calls as one sequence: ${way}`, () =>
      TestGateway.use({ script }, ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const answers = yield* Effect.promise(() => converse(questions, ask(client(session)), isShort))
          assert.deepStrictEqual(answers, ["Cold in Oslo, warm in Rome.", "Nobody knows."])
          assert.strictEqual(log.length, 4)
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
          assert.deepStrictEqual((yield* session.counts).ignored, { "tools.strict": 4 })
          assert.deepStrictEqual(
            (yield* session.messages).map(({ role }) => role),
            ["system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "assistant"]
          )
        })
      )
    )
  }

  const thoughtful = [
    `<think>\nI should look.\n</think>\n\nOne moment. ${call("weather", { city: "Oslo" })}`,
    "<think>\nIt is cold.\n</think>\n\nCold.",
    "<think>\nAgain?\n</think>\n\nAs I said."
  ]
  const echoes: ReadonlyArray<readonly [string, (item: OpenAI.Responses.ResponseOutputItem) => boolean]> = [
    ["with their reasoning", () => true],
    ["without it", ({ type }) => type !== "reasoning"]
  ]
  for (const [way, isSentBack] of echoes) {
    it.live(`keep thoughts apart from words, in one sequence also where answers are sent back ${way}`, () =>
      TestGateway.use({ script: thoughtful }, ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const thoughts: Array<string> = []
          const ask = async (body: Question) => {
            const response = await client(session).responses.stream(body).finalResponse()
            for (const item of response.output) {
              if (item.type === "reasoning") thoughts.push(...(item.content ?? []).map(({ text }) => text.trim()))
            }
            return { ...response, output: response.output.filter(isSentBack) }
          }
          const answers = yield* Effect.promise(() => converse(["Oslo?", "Really?"], ask, false))
          assert.deepStrictEqual(
            answers.map((one) => one.trim()),
            ["Cold.", "As I said."]
          )
          assert.deepStrictEqual(thoughts, ["I should look.", "It is cold.", "Again?"])
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
        })
      )
    )
  }

  it.live("parse what was said into a value, with the schema checked by the package", () =>
    TestGateway.use({ script: ['{"city":"Oslo","degrees":-3}'] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number() }), "weather")
        const parsed = yield* Effect.promise(() =>
          client(session).responses.parse({ model: "any", input: "Oslo?", text: { format } })
        )
        assert.deepStrictEqual(parsed.output_parsed, { city: "Oslo", degrees: -3 })
        assert.deepStrictEqual((yield* session.counts).ignored, { "text.format": 1 })
        yield* assertExact(session, log)
      })
    )
  )

  it.live("give a response again by its id, and forget it when it is deleted", () =>
    TestGateway.use({ script: ["Hello!"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const { responses } = client(session)
        const failure = yield* Effect.promise(async () => {
          const { id, output_text: text, usage } = await responses.create({ model: "any", input: "Hi" })
          assert.strictEqual(usage?.total_tokens, usage!.input_tokens + usage!.output_tokens)
          assert.strictEqual((await responses.retrieve(id)).output_text, text)
          await responses.delete(id)
          return responses.create({ model: "any", input: "Hi", previous_response_id: id }).then(
            () => assert.fail("it was answered"),
            (error: unknown) => error
          )
        })
        assert.instanceOf(failure, BadRequestError)
        assert.strictEqual(failure.code, "previous_response_not_found")
      })
    )
  )

  it.live("ask again after a 500, streamed, and record the answer alone", () => {
    let asked = 0
    return TestGateway.use(
      {
        script: () =>
          asked++ === 0
            ? Effect.fail(new InferenceError({ reason: "failed", server: "scripted", message: "out of memory" }))
            : Effect.succeed("now it works")
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const { output_text: text } = yield* Effect.promise(() =>
            client(session).responses.stream({ model: "any", input: "Hi" }).finalResponse()
          )
          assert.strictEqual(text, "now it works")
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
        })
    )
  })

  it.live("record a compacted history as a sequence of its own, and go on with it", () =>
    TestGateway.use({ script: ["one", "two", "three"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const { responses } = client(session)
        yield* Effect.promise(async () => {
          const first = await responses.create({ model: "any", input: "count" })
          await responses.create({ model: "any", input: "on", previous_response_id: first.id })
          await responses.create({ model: "any", input: "So far: one, two. Go on." })
        })
        assert.strictEqual((yield* assertExact(session, log)).length, 2)
      })
    )
  )

  it.live("leave nothing of a stream that was cancelled", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const script = () =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      yield* TestGateway.use({ script }, ({ gateway }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const stream = client(session).responses.stream({ model: "any", input: "Hi" })
          const failure = stream.finalResponse().then(
            () => assert.fail("it was answered"),
            (error: unknown) => error
          )
          yield* Deferred.await(begun)
          stream.abort()
          assert.instanceOf(yield* Effect.promise(() => failure), APIUserAbortError)
          yield* Deferred.await(ended)
          assert.strictEqual((yield* session.trajectories).length, 0)
        })
      )
    })
  )

  it.live("tell an answer that ended at its limit from a whole one", () =>
    TestGateway.use({ script: ["a long story"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const response = yield* Effect.promise(() =>
          client(session).responses.stream({ model: "any", input: "Hi", max_output_tokens: 6 }).finalResponse()
        )
        assert.strictEqual(response.status, "incomplete")
        assert.deepStrictEqual(response.incomplete_details, { reason: "max_output_tokens" })
        assert.strictEqual(response.output_text, "a long")
        yield* assertExact(session, log)
      })
    )
  )
})
