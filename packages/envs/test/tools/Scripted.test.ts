/** Dialogues with tools that are written down: read from rows, played, judged turn by turn. */
import { Dataset, Environment, Laws, Message, ServerManager, Tokenizer, ToolCalls } from "@atropos/core"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema, Stream } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Script from "../../src/tools/Script.ts"
import * as Scripted from "../../src/tools/Scripted.ts"
import * as ToolUse from "../../src/ToolUse.ts"

const file = fileURLToPath(new URL("../fixtures/dialogues.jsonl", import.meta.url))
const rows = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { readonly conversations: unknown; readonly tools: unknown })
const scripts = rows.map(({ conversations, tools }) => Result.getOrThrow(Script.ofRow(conversations, tools)))
const [shop, table, song] = scripts as [Script.Script, Script.Script, Script.Script]

const call = (name: string, args: unknown) => ToolCalls.writeCall({ name, arguments: args })
const pear = call("price", { thing: "pear" })
const plum = call("price", { thing: "plum" })
const add = call("add", { numbers: [6, 2] })

const judged = (script: Script.Script, ...answers: ReadonlyArray<string>) => {
  const { calls, complete, turns } = Scripted.judge(script, Scripted.episodeOf(script, answers))
  return { turns, calls, complete }
}

const fault = (conversation: unknown, tools: unknown = null) =>
  Result.getOrThrow(Result.flip(Script.ofRow(conversation, tools)))

describe("a dialogue of a row", () => {
  it("has its turns with calls, replies and what is said in between", () => {
    assert.deepStrictEqual(
      shop.turns.map(({ expected, replies, said }) => [expected.length, replies, said.length]),
      [
        [2, ['{"price": 3}', '{"price": 2}'], 0],
        [1, ["8"], 0]
      ]
    )
    assert.deepStrictEqual(
      shop.tools.map(({ function: { name } }) => name),
      ["price", "add"]
    )
    assert.deepStrictEqual(
      table.turns.map(({ expected, said }) => [expected.length, said.map(Message.text)]),
      [
        [0, ["For four."]],
        [1, []]
      ]
    )
    // They stand in its system prompt.
    assert.deepStrictEqual(table.tools, [])
    assert.deepStrictEqual(
      song.turns.map(({ expected }) => expected.length),
      [0]
    )
  })

  it("may be in OpenAI's layout, and in that of function_call and observation", () => {
    const inOpenAi = Script.ofRow(
      [
        { role: "user", content: "?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", function: { name: "add", arguments: '{"numbers": [6, 2]}' } }]
        },
        { role: "tool", tool_call_id: "1", content: "8" },
        { role: "assistant", content: "8" }
      ],
      null
    )
    const asFunctionCall = Script.ofRow(
      JSON.stringify([
        { from: "human", value: "?" },
        { from: "function_call", value: '{"name": "add", "arguments": {"numbers": [6, 2]}}' },
        { from: "observation", value: "8" },
        { from: "gpt", value: "8" }
      ]),
      null
    )
    assert.deepStrictEqual(inOpenAi, asFunctionCall)
    assert.deepStrictEqual(Result.getOrThrow(inOpenAi).turns, [
      { expected: [{ name: "add", arguments: { numbers: [6, 2] } }], replies: ["8"], said: [] }
    ])
  })

  it("that cannot be played is refused with what is wrong", () => {
    const human = { from: "human", value: "?" }
    const asks = { from: "gpt", value: add }
    assert.match(fault("no list"), /no list of messages/)
    assert.match(fault([human]), /no answer/)
    assert.match(fault([asks]), /does not begin with a request/)
    assert.match(fault([human, { from: "bot", value: "x" }]), /message 2 is from "bot"/)
    assert.match(fault([human, { from: "constructor", value: "x" }]), /message 2 is from "constructor"/)
    assert.match(
      fault([human, { from: "gpt", value: '<tool_call>{"name": add}</tool_call>' }]),
      /a call cannot be read/
    )
    assert.match(fault([human, { from: "gpt", value: "Hm." }, { from: "gpt", value: "Ha." }]), /second answer in a row/)
    assert.match(fault([human, asks, human, { from: "gpt", value: "Ha." }]), /the calls of message 2 have no results/)
    assert.match(
      fault([human, { from: "gpt", value: "Hm." }, { from: "tool", value: "8" }]),
      /message 3 answers no call/
    )
    assert.match(fault([human, asks], "{"), /the tools are no list/)
    assert.match(fault([human, asks], [{ description: "?" }]), /a tool is not/)
  })
})

describe("an answer in a dialogue", () => {
  it("is right with the expected calls in any order, and with further arguments", () => {
    const whole = { turns: [1, 1], calls: 1, complete: 1 }
    assert.deepStrictEqual(judged(shop, `${pear}\n${plum}`, add), whole)
    assert.deepStrictEqual(judged(shop, `<think>${add}</think>Well: ${plum}${pear}`, add), whole)
    assert.deepStrictEqual(judged(shop, pear + plum, call("add", { numbers: [6, 2], unit: "EUR" })), whole)
    assert.deepStrictEqual(judged(table, "For how many, and when?", call("book", { people: 4 })), whole)
    assert.deepStrictEqual(judged(song, "I cannot."), { turns: [1], calls: 1, complete: 1 })
  })

  it("is wrong with a call too few, too many, of another name or value, or that cannot be read", () => {
    const nothing = { turns: [0], calls: 0, complete: 0 }
    for (const answer of [
      pear,
      pear + pear,
      pear + plum + add,
      call("prices", { thing: "pear" }) + plum,
      call("price", { thing: "Pear" }) + plum,
      call("price", {}) + plum,
      `<think>${pear}${plum}`,
      pear + '<tool_call>{"name": "price", "arguments": {"thing": "plum"}}',
      pear + '<tool_call>{"name": "price", "name": "price", "arguments": {"thing": "plum"}}</tool_call>',
      "They cost 8.",
      ""
    ]) {
      assert.deepStrictEqual(judged(shop, answer, add), nothing, answer)
    }
    for (const answer of [
      call("price", {}),
      "",
      " ",
      "<tool_call>{oops",
      "<think>I cannot.</think>",
      "<think>I cannot."
    ]) {
      assert.deepStrictEqual(judged(song, answer), nothing, answer)
    }
    assert.deepStrictEqual(judged(table, call("book", { people: 4 })), nothing)
  })

  it("ends the episode where it is wrong, and what was right before counts", () => {
    assert.deepStrictEqual(judged(shop, pear + plum, "8"), { turns: [1, 0], calls: 2 / 3, complete: 0 })
    assert.deepStrictEqual(judged(shop, pear + plum), { turns: [1], calls: 2 / 3, complete: 0 })
    assert.deepStrictEqual(judged(table, "For how many?", "For four?"), { turns: [1, 0], calls: 0, complete: 0 })
  })

  it.effect.prop("gets nothing from any text", [Schema.String], ([text]) =>
    Effect.sync(() => {
      const { complete } = judged(shop, text)
      assert.strictEqual(complete, 0)
    })
  )

  it.effect("gives every turn an advantage of its own, and the score its parts", () =>
    Effect.sync(() => {
      const group = [[pear + plum, add], [pear + plum, "8"], [pear]].map((answers) => Scripted.episodeOf(shop, answers))
      const scores = Scripted.score(shop, group, Scripted.rule, { outcomeWeight: 0 })
      assert.deepStrictEqual(
        scores.map((one) => (typeof one === "number" ? one : [one.score, one.rewards])),
        [
          [1, { calls: 1, complete: 1 }],
          [1 / 3, { calls: 2 / 3, complete: 0 }],
          [0, { calls: 0, complete: 0 }]
        ]
      )
      // Turn 1: 1, 1, 0; turn 2: 1, 0 and 0 for the one that ended: standardised over the group.
      const first = [1, 1, 0].map((reward) => (reward - 2 / 3) / Math.sqrt(2 / 9))
      const second = [1, 0, 0].map((reward) => (reward - 1 / 3) / Math.sqrt(2 / 9))
      for (const [index, one] of scores.entries()) {
        const advantages = Array.from(typeof one === "number" ? [] : (one.advantages ?? []))
        const { mask, messages } = group[index]!
        const lengths = messages.filter(({ role }) => role === "assistant").map((answer) => Message.text(answer).length)
        assert.strictEqual(advantages.length, mask.length)
        assert.closeTo(advantages[1]!, first[index]!, 1e-6)
        assert.strictEqual(advantages[0], 0)
        if (lengths.length > 1) {
          assert.closeTo(advantages.at(-1)!, second[index]!, 1e-6)
          assert.strictEqual(advantages[lengths[0]! + 1], 0)
        }
      }
    })
  )

  it.effect("holds the claims of the environment", () =>
    Effect.forEach(scripts, (script) => {
      const score = (group: Parameters<typeof Scripted.score>[1]) =>
        Effect.succeed(
          Scripted.score(script, group, Scripted.rule, { outcomeWeight: 1 }).map((one) =>
            typeof one === "number" ? one : one.score!
          )
        )
      return Laws.goldOnTop(score, Scripted.gold(script), Scripted.wrong(script), [0, 1])
    })
  )
})

describe("tool-use with rows", () => {
  it.live("plays a dialogue with the script's replies, and leaves other rows out", () =>
    Effect.gen(function* () {
      const asked: Array<ServerManager.ScriptedRequest> = []
      const script: ServerManager.Script = (request) => {
        asked.push(request)
        const messages = "messages" in request ? request.messages : []
        const answers = messages.filter(({ role }) => role === "assistant").length
        return Message.text(messages.at(-1)!).includes("cost") ? plum + pear : answers === 1 ? add : "I cannot."
      }
      const all = yield* Effect.gen(function* () {
        const { work } = yield* Environment.Environment
        const rolled = yield* work(0).pipe(
          Stream.take(3),
          Stream.mapEffect(({ rollOut }) => rollOut),
          Stream.runCollect
        )
        return rolled.flatMap(({ groups }) => groups)
      }).pipe(
        Effect.provide(
          ToolUse.layer({ source: file, testSource: file, groupSize: 1, maxTokenLength: 20_000 }).pipe(
            Layer.provide([
              ServerManager.layerScripted(script),
              Dataset.layer,
              Tokenizer.layerBytes,
              Sandbox.layerWasi()
            ])
          )
        )
      )
      const dialogue = all.find(({ messages }) => JSON.stringify(messages).includes("cost"))!
      assert.deepStrictEqual(Array.from(dialogue.scores), [1])
      const told = dialogue.messages![0]!.filter(({ role }) => role === "tool")
      // The replies follow the calls as they were made: the plum first.
      assert.deepStrictEqual(told.map(Message.text), ['{"price": 2}', '{"price": 3}'])
      assert.isTrue(
        asked.some((request) => "tools" in request && Array.isArray(request.tools) && request.tools.length === 2)
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
