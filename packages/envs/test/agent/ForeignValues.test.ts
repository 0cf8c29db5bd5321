/** Values of an author's functions that JSON cannot hold, and functions that change what they are given. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, type Message, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Logger, Stream } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import { defineAgent } from "../../src/agent/Agent.ts"
import type { AgentModel } from "../../src/agent/AgentDefinition.ts"
import * as Foreign from "../../src/agent/Foreign.ts"
import { defineEnvironment } from "../../src/agent/PlainEnvironment.ts"

const ask = async (model: AgentModel, messages: ReadonlyArray<unknown>): Promise<string> => {
  const answer = await fetch(`${model.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: model.name, messages })
  })
  const { choices } = (await answer.json()) as { choices: ReadonlyArray<{ message: { content: string } }> }
  return choices[0]!.message.content
}

/** What the model answers: how many messages it was sent. */
const script: ServerManager.Script = (request) => ("messages" in request ? `${request.messages.length}` : "")

const rolledOut = (
  layer: Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager | Dataset.Dataset>,
  items = 1
) =>
  Effect.flatMap(Environment.Environment, ({ work }) =>
    work(0).pipe(
      Stream.take(items),
      Stream.mapEffect(({ rollOut }) => rollOut),
      Stream.runCollect
    )
  ).pipe(
    Effect.provide(
      layer.pipe(Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]))
    ),
    Effect.provide(Logger.layer([]))
  )

const asked = () => [{ role: "user", content: "hi" }]

describe("an author's functions", () => {
  it.effect("may return what JSON cannot hold, which pages show anyway", () =>
    Effect.gen(function* () {
      const layer = defineAgent({
        name: "unusual",
        items: ["hi"],
        run: async ({ model }) => {
          const result: Record<string, unknown> = { text: await ask(model, asked()), big: 5n }
          result["self"] = result
          return result
        },
        score: ({ result }) => (result["big"] === 5n ? 1 : 0)
      })({ groupSize: 2 })
      const [rolled] = yield* rolledOut(layer)
      assert.deepStrictEqual(Array.from(rolled!.groups[0]!.scores), [1, 1])
      assert.deepStrictEqual(rolled!.groups[0]!.overrides, [
        { parsed: '{"text":"1","big":5n,"self":[Circular]}' },
        { parsed: '{"text":"1","big":5n,"self":[Circular]}' }
      ])
    })
  )

  it.effect("change the item of their own run alone, in a group and in later epochs", () =>
    Effect.gen(function* () {
      const rows: Array<{ readonly messages: Array<Message.Message> }> = [
        { messages: [{ role: "user", content: "hi" }] }
      ]
      const layer = defineAgent({
        name: "grows",
        items: rows,
        run: async ({ item, model }) => {
          const content = await ask(model, item.messages)
          item.messages.push({ role: "assistant", content })
          return content
        },
        score: ({ item, messages }) => {
          ;(messages as Array<unknown>).length = 0
          return item.messages.length
        }
      })({ groupSize: 2 })
      for (const { groups } of yield* rolledOut(layer, 3)) {
        assert.deepStrictEqual(Array.from(groups[0]!.scores), [2, 2])
        assert.deepStrictEqual(
          groups[0]!.messages?.map((chat) => chat.map(({ content }) => content)),
          [
            ["hi", "1"],
            ["hi", "1"]
          ]
        )
      }
      assert.lengthOf(rows[0]!.messages, 1)
    })
  )

  it.effect("of a plain environment change no row", () =>
    Effect.gen(function* () {
      const rows = [{ messages: [{ role: "user", content: "hi" }] }]
      const layer = defineEnvironment({
        name: "plain",
        items: rows,
        collectTrajectories: ({ count, item, model }) => {
          item.messages.push({ role: "user", content: "again" })
          return model.chat(item.messages, { n: count })
        },
        score: ({ trajectories }) => trajectories.map(({ completion }) => Number(completion))
      })({ groupSize: 2 })
      const scores = (yield* rolledOut(layer, 2)).map(({ groups }) => groups[0]!.scores)
      assert.deepStrictEqual(
        scores.map((one) => Array.from(one)),
        [
          [2, 2],
          [2, 2]
        ]
      )
    })
  )

  it.live("may leave errors that come after they ended, which are reported ever more rarely", () =>
    Effect.gen(function* () {
      const reported: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") reported.push(message)
      })
      for (let run = 0; run < 5; run++) {
        const late = Promise.withResolvers<void>()
        yield* Foreign.call(() => {
          void late.promise.then(() => Promise.reject(new Error("too late")))
        }).pipe(Effect.provide(Logger.layer([logger])))
        const before = reported.length
        late.resolve()
        // The third and the fifth are not reported.
        if (run < 2 || run === 3) yield* Waits.untilTrue("the report", () => reported.length > before)
      }
      assert.lengthOf(reported, 3)
      assert.match(JSON.stringify(reported.at(-1)), /threw an unawaited error: Error: too late.*"times":4/)
    })
  )
})
