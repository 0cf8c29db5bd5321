import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { text, type ToolCall } from "@atropos/core/trajectory/Message"
import * as Tool from "../../../src/kit/tools/Tool.ts"
import * as Toolbox from "../../../src/kit/tools/Toolbox.ts"

const half = Tool.make({
  name: "half",
  description: "half of an even number",
  parameters: Schema.Struct({ of: Schema.Finite.annotate({ description: "an even number" }) }),
  run: ({ of }) =>
    of % 2 === 0 ? Effect.succeed(String(of / 2)) : Effect.fail(new Tool.ToolError({ message: `${of} is odd` }))
})

let ids = 0
const call = (name: string, args: string): ToolCall => ({
  id: `call_${ids++}`,
  type: "function",
  function: { name, arguments: args }
})

describe("Toolbox", () => {
  it.effect("answers every call under its own id, in order, and tells what was wrong with the others", () =>
    Effect.gen(function* () {
      const toolbox = Toolbox.make([half])
      const calls = [
        call("half", '{"of": 8}'),
        call("half", '{"of": 7}'),
        call("double", "{}"),
        call("half", "{of: 8}"),
        call("half", '{"of": "8"}'),
        call("half", "")
      ]
      const answered = yield* toolbox.answer(calls)
      assert.deepStrictEqual(
        answered.map(({ message }) => message.tool_call_id),
        calls.map(({ id }) => id)
      )
      assert.deepStrictEqual(
        answered.map(({ succeeded }) => succeeded),
        [true, false, false, false, false, false]
      )
      const contents = answered.map(({ message }) => text(message))
      assert.deepStrictEqual(contents.slice(0, 4), [
        "4",
        "error: 7 is odd",
        "error: there is no tool double; there are: half",
        "error: the arguments of half are not JSON"
      ])
      assert.match(contents[4]!, /wrong arguments for half: .*\["of"\]/s)
      assert.match(contents[5]!, /wrong arguments for half: .*\["of"\]/s)
    })
  )

  it.effect("runs the calls of a turn side by side", () =>
    Effect.gen(function* () {
      const met = yield* Deferred.make<void>()
      const tools = [
        Tool.make({
          name: "wait",
          description: "waits for the other",
          parameters: Schema.Struct({}),
          run: () => Effect.as(Deferred.await(met), "met")
        }),
        Tool.make({
          name: "meet",
          description: "lets the other go on",
          parameters: Schema.Struct({}),
          run: () => Effect.as(Deferred.succeed(met, undefined), "meeting")
        })
      ]
      const answered = yield* Toolbox.make(tools).answer([call("wait", "{}"), call("meet", "{}")])
      assert.deepStrictEqual(
        answered.map(({ message }) => message.content),
        ["met", "meeting"]
      )
    })
  )

  it.effect("gives up on a slow tool and says so", () =>
    Effect.gen(function* () {
      const slow = Tool.make({
        name: "slow",
        description: "never answers",
        parameters: Schema.Struct({}),
        run: () => Effect.never
      })
      const waiting = yield* Effect.forkChild(
        Toolbox.make([slow], { deadline: "5 seconds" }).answer([call("slow", "{}")])
      )
      yield* TestClock.adjust("5 seconds")
      const [answered] = yield* Fiber.join(waiting)
      assert.strictEqual(answered!.message.content, "error: slow took longer than 5s")
    })
  )

  it.effect("cuts a long answer in the middle", () =>
    Effect.gen(function* () {
      const digits = Tool.make({
        name: "digits",
        description: "many digits",
        parameters: Schema.Struct({}),
        run: () => Effect.succeed(`begin${"0".repeat(500)}end`)
      })
      const [answered] = yield* Toolbox.make([digits], { maxCharacters: 20 }).answer([call("digits", "{}")])
      assert.strictEqual(answered!.message.content, "begin00000\n[488 characters left out]\n0000000end")
    })
  )

  it.effect("refuses arguments that nothing could write down again", () =>
    Effect.gen(function* () {
      const [answered] = yield* Toolbox.make([half]).answer([
        call("half", `{"of": ${"[".repeat(50_000)}${"]".repeat(50_000)}}`)
      ])
      assert.isFalse(answered!.succeeded)
      assert.strictEqual(answered!.message.content, "error: the arguments of half are nested too deep")
    })
  )

  it.effect("fails where the environment itself is in trouble", () =>
    Effect.gen(function* () {
      const broken: Tool.Tool<"no sandbox"> = {
        name: "broken",
        description: "has lost what it needs",
        parameters: {},
        run: () => Effect.fail("no sandbox" as const)
      }
      assert.strictEqual(yield* Effect.flip(Toolbox.make([broken]).answer([call("broken", "{}")])), "no sandbox")
    })
  )

  it("names the tools as chat requests do", () => {
    const [definition] = Toolbox.make([half]).definitions
    assert.deepStrictEqual(definition, {
      type: "function",
      function: {
        name: "half",
        description: "half of an even number",
        parameters: {
          type: "object",
          properties: { of: { type: "number", description: "an even number" } },
          required: ["of"],
          additionalProperties: true
        }
      }
    })
  })

  it("refuses two tools of one name", () => {
    assert.throws(() => Toolbox.make([half, half]), /two tools have one name: half, half/)
  })
})
