import { Dataset, Environment, Message, SeededRandom, ServerManager, ToolCalls } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result, Schema, Stream } from "effect"
import * as Requests from "../src/tools/Requests.ts"
import * as ToolCalling from "../src/ToolCalling.ts"

const call = (name: string, args: unknown): ToolCalls.Call => ({ name, arguments: args })
const written = (...calls: ReadonlyArray<ToolCalls.Call>) => calls.map(ToolCalls.writeCall).join("\n")
const rain = call("get_weather", { city: "Oslo", days_ahead: 1 })
const tea = call("set_timer", { minutes: 4, label: "tea" })
const isRight = (expected: ReadonlyArray<ToolCalls.Call>, text: string) => ToolCalling.isRight(expected, text, false)

const problem = (conversations: unknown) =>
  Result.getOrElse(Result.flip(ToolCalling.itemOf(conversations, false)), () => "")

const withId = (id: string) => `<tool_call>{"name":"f","arguments":{"id":${id}}}</tool_call>`

describe("ToolCalling", () => {
  it("pairs the calls one to one, in any order", () => {
    assert.isTrue(isRight([rain, tea], written(tea, rain)))
    assert.isFalse(isRight([rain, tea], written(rain)))
    assert.isFalse(isRight([rain], written(rain, rain)))
    assert.isFalse(isRight([rain, rain], written(rain)))
    assert.isTrue(isRight([rain, rain], written(rain, rain)))
  })

  it("allows further arguments, but no other value and no missing one", () => {
    assert.isTrue(isRight([rain], written(call("get_weather", { city: "Oslo", days_ahead: 1, unit: "C" }))))
    assert.isFalse(isRight([rain], written(call("get_weather", { city: "Oslo" }))))
    assert.isFalse(isRight([rain], written(call("get_weather", { city: "Oslo", days_ahead: "1" }))))
    assert.isFalse(isRight([call("f", { a: { b: [1, 2] } })], written(call("f", { a: { b: [2, 1] } }))))
    assert.isTrue(isRight([call("f", { a: { b: 1, c: 2 } })], written(call("f", { a: { c: 2, b: 1 } }))))
  })

  it("takes numbers for equal if their written values are, at any length", () => {
    for (const [expected, id] of [
      ["100", "1e2"],
      ["1234567890123456789", "1234567890123456789.0"],
      ["1234567890123456789", "1.234567890123456789e18"],
      ["10000000000000000000", "1e19"]
    ] as const) {
      assert.isTrue(isRight(ToolCalls.callsOf(withId(expected)), withId(id)), id)
    }
    assert.isFalse(isRight(ToolCalls.callsOf(withId("1234567890123456789")), withId("1234567890123456788.0")))
  })

  it("a call that fits two expected ones is given to the one that needs it", () => {
    const loose = call("f", { a: 1 })
    const strict = call("f", { a: 1, b: 2 })
    assert.isTrue(isRight([loose, strict], written(strict, loose)))
    assert.isTrue(isRight([loose, strict], written(loose, strict)))
    assert.isFalse(isRight([strict, strict], written(loose, strict)))
  })

  it("takes a call without arguments for one with none", () => {
    const none = call("list_rooms", {})
    for (const json of ['{"name": "list_rooms"}', '{"name": "list_rooms", "arguments": null}']) {
      const bare = `<tool_call>${json}</tool_call>`
      assert.isTrue(isRight([none], bare))
      assert.isTrue(isRight(ToolCalls.callsOf(bare), written(none)))
      assert.isFalse(isRight([call("list_rooms", { floor: 1 })], bare))
    }
    assert.isFalse(isRight([none], '<tool_call>{"name": "list_rooms", "parameters": {}}</tool_call>'))
  })

  it("passes over what is no call, and wants exactly one think block where it is asked for", () => {
    assert.isTrue(isRight([rain], `<tool_call>{broken</tool_call>${written(rain)}`))
    assert.isFalse(isRight([], "nothing"))
    const thought = `<think>rain?</think>${written(rain)}`
    assert.isTrue(ToolCalling.isRight([rain], thought, true))
    assert.isFalse(ToolCalling.isRight([rain], written(rain), true))
    assert.isFalse(ToolCalling.isRight([rain], `<think></think>${thought}`, true))
    assert.isFalse(ToolCalling.isRight([rain], `<think>${written(rain)}</think>`, true))
  })

  it.prop("a generated request says every argument of its calls", [Schema.Natural], ([seed]) => {
    const { expected, request, tools } = Requests.draw(SeededRandom.seeded(seed, 0), 3)
    assert.isTrue(expected.length >= 1 && expected.length <= 3)
    for (const { arguments: args, name } of expected) {
      const tool = tools.find((one) => one.name === name)
      assert(tool !== undefined)
      assert.deepStrictEqual(Object.keys(args as object).toSorted(), Object.keys(tool.parameters).toSorted())
      for (const [key, value] of Object.entries(args as object)) {
        if (key !== "days_ahead") assert.include(request, String(value))
      }
    }
  })

  it("reads rows of conversations, and says what is wrong with one", () => {
    const row = [
      { from: "system", value: "tools" },
      { from: "human", value: "rain?" },
      { from: "gpt", value: written(rain) }
    ]
    const item = Result.getOrThrow(ToolCalling.itemOf(row, false))
    assert.deepStrictEqual(item.expected, [rain])
    assert.deepStrictEqual(item.prompt, [Message.system("tools"), Message.user("rain?")])
    assert.match(problem("text"), /not a list of/)
    assert.match(problem(row.slice(0, 1)), /no message from human/)
    assert.match(problem(row.slice(0, 2)), /no tool call/)
  })

  it.effect("when all of a group are right, the shorter one scores higher", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* Stream.runCollect(Stream.take(groups, 1))
      assert.strictEqual(group!.scores[0], 1)
      assert.isTrue(group!.scores[1]! < 1 && group!.scores[1]! > 0)
    }).pipe(
      Effect.provide(
        ToolCalling.layer({ source: "rows", groupSize: 2, maxTokenLength: 400, thinking: false }).pipe(
          Layer.provide([
            ServerManager.layerScripted([written(rain), `${"Well, ".repeat(40)}${written(rain)}`]),
            Dataset.layerMemory({
              rows: [
                {
                  conversations: [
                    { from: "human", value: "rain?" },
                    { from: "gpt", value: written(rain) }
                  ]
                }
              ]
            })
          ])
        )
      )
    )
  )

  const rowOf = (expected: ToolCalls.Call) => ({
    conversations: [
      { from: "human", value: `${expected.name}?` },
      { from: "gpt", value: written(expected) }
    ]
  })

  it.effect("holds out the rows of a test source, and credits wrong answers in part if asked to", () =>
    Effect.gen(function* () {
      const { evaluation, groups } = yield* Environment.Environment
      const [group] = yield* Stream.runCollect(Stream.take(groups, 1))
      // 0.8 times 0.75 for the name and one of two arguments, 0.8 times 0.2 for the form.
      assert.deepStrictEqual(
        Array.from(group!.scores, (score) => Math.round(score * 1e6) / 1e6),
        [1, -0.4, -0.84, -1]
      )
      const heldOut = yield* Stream.runCollect(Option.getOrThrow(evaluation))
      assert.deepStrictEqual(
        heldOut.map(({ label }) => label),
        ["set_timer?"]
      )
      const [evaluated] = yield* heldOut[0]!.evaluate
      assert.strictEqual(evaluated!.score, -1)
    }).pipe(
      Effect.provide(
        ToolCalling.layer({
          source: "rows",
          testSource: "test",
          groupSize: 4,
          thinking: false,
          partialReward: 0.8
        }).pipe(
          Layer.provide([
            ServerManager.layerScripted([
              written(rain),
              written(call("get_weather", { city: "Oslo", days_ahead: 2 })),
              written(call("weather", { city: "Oslo" })),
              "It rains.",
              "Tea!"
            ]),
            Dataset.layerMemory({ rows: [rowOf(rain)], test: [rowOf(tea)] })
          ])
        )
      )
    )
  )
})
