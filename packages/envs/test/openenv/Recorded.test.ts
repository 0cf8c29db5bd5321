/** Episodes of recorded OpenEnv servers: what is asked of them, what the policy is told, what it is worth. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Environment, Message, ServerManager } from "@atropos/core"
import { Effect, Layer, Stream } from "effect"
import * as OpenEnv from "../../src/connected/OpenEnv.ts"
import * as Recording from "./Recording.ts"

type Settings = Parameters<typeof OpenEnv.layer>[0]

const groups = (script: ServerManager.Script, settings: Settings, layer = OpenEnv.layer) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      layer(settings).pipe(Layer.provide([ServerManager.layerScripted(script), NodeHttpClient.layerUndici]))
    )
    const environment = yield* Effect.provideContext(Environment.Environment, context)
    return yield* Stream.runCollect(Stream.take(environment.groups, 1))
  })

const words = (messages: ReadonlyArray<Message.Message> = []) => messages.map(Message.text).join("\n")

const call = (name: string, args: object) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`

describe("an environment of recorded OpenEnv servers", () => {
  it.live("asks the question and gives the answer; the right one, which comes back, is shown to nobody", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* Recording.serve("reasoning_gym_env")
      const [group] = yield* groups(["4"], {
        url: `${url}/docs`,
        groupSize: 2,
        seed: 42,
        reset: { dataset_name: "leg_counting", size: 5 }
      })
      assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
      const [messages] = group!.messages!
      assert.match(words(messages), /how many legs .* 3 sea slugs, 12 deers, 2 giraffes, 11 elephants/)
      assert.deepStrictEqual(messages!.at(-1), Message.assistant("4"))
      assert.notInclude(words(messages), "100")
      assert.strictEqual(asked.filter(({ type }) => type === "reset").length, 2)
      assert.deepInclude(asked, { type: "step", data: { answer: "4" } })
    }).pipe(Effect.scoped)
  )

  it.live("offers the tools of an MCP environment and runs their calls", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* Recording.serve("echo_env")
      const [group] = yield* groups([call("echo_message", { message: "hi" }), call("none", {}), "it said hi"], {
        url,
        groupSize: 1,
        instructions: "Have hi echoed."
      })
      const [messages] = group!.messages!
      assert.deepStrictEqual(messages!.filter(({ role }) => role !== "assistant").map(Message.text), [
        "Have hi echoed.",
        "hi",
        "error: there is no tool none; there are: echo_message, echo_with_length"
      ])
      assert.deepStrictEqual(asked.slice(1), [
        { type: "step", data: { type: "list_tools" } },
        { type: "step", data: { type: "call_tool", tool_name: "echo_message", arguments: { message: "hi" } } }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("is made of functions of one's own, which see no answers either", () =>
    Effect.gen(function* () {
      const { url } = yield* Recording.serve("reasoning_gym_env")
      const seen: Array<string> = []
      const layer = OpenEnv.make("legs", {
        observe: (observation) => {
          seen.push(...Object.keys(observation))
          return `Short: ${String(observation["question"])}`
        },
        act: (answer) => ({ answer: answer.replaceAll("!", "") })
      })
      const [group] = yield* groups(
        ["4!"],
        { url, groupSize: 1, reset: { dataset_name: "leg_counting", size: 5 }, seed: 42 },
        layer
      )
      assert.match(words(group!.messages![0]), /^Short: Your task/)
      assert.includeMembers(seen, ["question", "score"])
      assert.notIncludeMembers(seen, ["correct_answer"])
      assert.notInclude(seen, "dataset_metadata")
    }).pipe(Effect.scoped)
  )

  const mistakes: ReadonlyArray<readonly [string, Omit<NonNullable<Settings>, "url">, RegExp]> = [
    [
      "a field that observations lack",
      { observation: "board" },
      /the template contains board, but its observations have question \(string\)/
    ],
    [
      "a field that is hidden",
      { observation: "{correct_answer}" },
      /contains correct_answer, which is hidden from the model as an answer/
    ],
    [
      "a field that actions lack",
      { actionField: "move" },
      /names move, but actions of this server have answer \(string, required\)/
    ],
    ["fields that actions lack", { actionExtra: { kind: "x" } }, /--env.action_extra names kind/]
  ]
  it.live.each(mistakes)("says at the start what would be right instead of %s", ([, settings, message]) =>
    Effect.gen(function* () {
      const { url } = yield* Recording.serve("reasoning_gym_env")
      const error = yield* Effect.flip(groups(["4"], { ...settings, url }))
      assert.match((error as Error).message, message)
    }).pipe(Effect.scoped)
  )
})
