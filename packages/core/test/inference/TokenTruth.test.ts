/** What a session trains on is what its server was sent and sampled, whatever a client does with its chats. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { fileURLToPath } from "node:url"
import type { IdsRequest } from "../../src/inference/backend/Backend.ts"
import type { Recording, TokenChoice } from "../../src/inference/wire/Inference.ts"
import { type Message, text as textOf } from "../../src/trajectory/Message.ts"
import * as ChatPrompt from "../../src/inference/tokenizer/ChatPrompt.ts"
import type { Relation } from "../../src/inference/session/Relation.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import * as TrackedSequences from "../../src/inference/sequences/TrackedSequences.ts"

/** One thing that a client does. */
const Act = Schema.Struct({
  kind: Schema.Literals(["go on", "go on", "go on", "again", "edit", "start"]),
  /** Which of the answers so far, from the newest. */
  back: Schema.Natural,
  n: Schema.Literals([1, 1, 2]),
  answer: Schema.Literals(["plain", "thinking", "call", "two calls", "cut off", "empty"]),
  sentBack: Schema.Literals(["as it was", "without thinking", "in parts", "trimmed", "arguments anew", "as text"]),
  asked: Schema.Literals(["question", "result", "two", "prefill"]),
  temperature: Schema.Literals([1, 1, 1, 0.5])
})
type Act = typeof Act.Type
const acts = Schema.Array(Act).check(Schema.isMaxLength(14))

/** What was sent and sampled for each answer. */
interface Logged {
  readonly inputIds: ReadonlyArray<number>
  readonly tokens: ReadonlyArray<number>
}

/** An answer as the client keeps it. */
interface Kept {
  /** The request's messages, and the same as the template has them: with the model's own words. */
  readonly asked: ReadonlyArray<Message>
  readonly spoken: ReadonlyArray<Message>
  readonly message: Message
  readonly text: string
  readonly turn: number
  readonly request: number
  isContinued: boolean
}

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }]
const user = (content: string): Message => ({ role: "user", content })

const textOfAnswer = (kind: Act["answer"], number: number): string =>
  ({
    plain: `  answer ${number}\n`,
    thinking: `<think>\nhm ${number}\n</think>\n\nthought ${number}`,
    call: `see ${number}\n<tool_call>\n{"name": "look", "arguments": {"b": ${number}, "1": 1.0}}\n</tool_call>`,
    "two calls": [1, 2]
      .map((of) => `<tool_call>\n{"name":"look","arguments":{"n":${number}${of}}}\n</tool_call>`)
      .join("\n"),
    "cut off": `cut ${number}`,
    empty: ""
  })[kind]

const sentBack = (kind: Act["sentBack"], message: Message, text: string): Message => {
  const { reasoning_content: _, ...quiet } = message
  switch (kind) {
    case "as it was":
      return message
    case "without thinking":
      return quiet
    case "in parts":
      return { ...quiet, role: "assistant", content: [{ type: "text", text: textOf(message) }] }
    case "trimmed":
      return { ...quiet, role: "assistant", content: textOf(message).trim() }
    case "arguments anew":
      return {
        ...quiet,
        role: "assistant",
        content: message.content ?? "",
        ...(message.tool_calls && {
          tool_calls: message.tool_calls.map((call, index) => ({
            ...call,
            id: `own_${index}`,
            function: { name: call.function.name, arguments: JSON.stringify(JSON.parse(call.function.arguments)) }
          }))
        })
      }
    case "as text":
      return { role: "assistant", content: text }
  }
}

/** A session, and a server that answers with ids of its own making. */
const world = (tokenizer: Tokenizer.TokenizerShape) => {
  const log: Array<Logged> = []
  let next: Act["answer"] = "plain"
  let spoken = 0
  const backend = {
    server: "logged",
    tokens: ({ inputIds, n = 1, temperature = 1 }: IdsRequest) =>
      Effect.sync(() =>
        Array.from({ length: n }, (): TokenChoice => {
          const turn = log.length
          // In pieces, as no tokenizer would write them.
          const words = Array.from(textOfAnswer(next, spoken++), (piece) =>
            tokenizer.encode(piece, { addSpecialTokens: false })
          ).flat()
          const tokens = next === "cut off" ? words : [...words, tokenizer.eosTokenId!]
          log.push({ inputIds, tokens })
          return {
            tokens,
            logprobs: tokens.map((_, at) => -(turn * 1024 + at + 1) / 1024),
            finishReason: next === "cut off" ? "length" : "stop",
            policyVersion: turn,
            sampling: { temperature, topP: 1, topK: 0, minP: 0, logprobs: "raw" }
          }
        })
      )
  }
  const session = TrackedSequences.make({ backend, tokenizer, reasoning: "apart" })
  return { log, session, answerWith: (kind: Act["answer"]) => void (next = kind) }
}

/** Plays acts; gives what was asked, and how each request should have been counted. */
const play = Effect.fnUntraced(function* (tokenizer: Tokenizer.TokenizerShape, plan: ReadonlyArray<Act>) {
  const { answerWith, log, session } = world(tokenizer)
  const kept: Array<Kept> = []
  const expected: Array<Relation> = []
  const prompts: Array<ReadonlyArray<Message>> = []
  for (const [step, { answer: wanted, asked, back, kind, n: most, sentBack: how, temperature }] of plan.entries()) {
    // Of two answers without a word to one prompt nobody can tell which one comes back.
    const answer = wanted === "empty" && kind === "again" ? "plain" : wanted
    const n = answer === "empty" ? 1 : most
    const one = kept[kept.length - 1 - (back % Math.max(1, kept.length))]
    const isNew = one === undefined || kind === "start"
    const added: ReadonlyArray<Message> =
      asked === "result"
        ? [{ role: "tool", content: `found ${step}`, tool_call_id: `own_${step}` }]
        : asked === "two"
          ? [user(`first ${step}`), { role: "system", content: `note ${step}` }]
          : asked === "prefill"
            ? [user(`ask ${step}`), { role: "assistant", content: `begin ${step}: ` }]
            : [user(`ask ${step}`)]
    let messages: ReadonlyArray<Message>
    let spoken: ReadonlyArray<Message>
    if (isNew) {
      messages = spoken = [{ role: "system", content: `system ${step}` }, ...added]
      expected.push("started")
    } else if (kind === "again") {
      messages = one.asked
      spoken = one.spoken
      expected.push("retried")
    } else if (kind === "edit") {
      const edited: Message = { role: "assistant", content: `edited ${step}` }
      messages = [...beginning(one.asked), edited, ...added]
      spoken = [...beginning(one.spoken), edited, ...added]
      // Behind an inner answer its tokens are shared.
      expected.push("rewritten")
    } else {
      messages = [...beginning(one.asked), sentBack(how, one.message, one.text), ...added]
      spoken = [...beginning(one.spoken), { role: "assistant", content: opening(one.spoken) + one.text }, ...added]
      expected.push(one.isContinued ? "branched" : "extended")
      one.isContinued = true
    }
    answerWith(answer)
    const before = log.length
    const choices = yield* session.chat({ messages, n, temperature, tools })
    prompts.push(...choices.map(() => spoken))
    for (const [index, { message, text, turn }] of choices.entries()) {
      assert.strictEqual(turn, before + index)
      const whole =
        opening(messages) === ""
          ? message
          : Object.assign({}, message, { content: opening(messages) + textOf(message) })
      kept.push({ asked: messages, spoken, message: whole, text, turn: turn!, request: step, isContinued: false })
    }
  }
  return { expected, log, kept, prompts, session }
})

const isOpen = (chat: ReadonlyArray<Message>): boolean => chat.at(-1)?.role === "assistant"
const beginning = (chat: ReadonlyArray<Message>) => (isOpen(chat) ? chat.slice(0, -1) : chat)
const opening = (chat: ReadonlyArray<Message>): string => (isOpen(chat) ? textOf(chat.at(-1)!) : "")

/** Holds a recording against the log: ids, logprobs, versions, each token once. */
const verify = ({ leftOut, sequences }: Recording, log: ReadonlyArray<Logged>) => {
  const times = log.map(({ tokens }) => tokens.map(() => 0))
  for (const { trajectory, turns = [] } of sequences) {
    const { logprobs, mask, policyVersion, tokens } = trajectory
    const marked = new Uint8Array(tokens.length)
    for (const { end, start, turn } of turns) {
      const { inputIds, tokens: sampled } = log[turn]!
      assert.deepStrictEqual(Array.from(tokens.subarray(0, inputIds.length)), inputIds)
      const offset = start - inputIds.length
      assert.isAtLeast(offset, 0)
      assert.deepStrictEqual(Array.from(tokens.subarray(start, end)), sampled.slice(offset, end - inputIds.length))
      for (let at = start; at < end; at++) {
        marked[at] = 1
        times[turn]![at - inputIds.length]!++
        assert.strictEqual(logprobs![at], Math.fround(-(turn * 1024 + at - inputIds.length + 1) / 1024))
      }
    }
    assert.deepStrictEqual(mask, marked)
    for (const [at, trained] of mask.entries()) assert.strictEqual(trained === 0, Number.isNaN(logprobs![at]))
    const trainedTurns = turns.filter(({ end, start }) => end > start).map(({ turn }) => turn)
    assert.strictEqual(policyVersion, trainedTurns.length === 0 ? policyVersion : Math.min(...trainedTurns))
  }
  const lost = times.flatMap((counts, turn) => (counts.every((count) => count === 1) ? [] : [turn]))
  assert.isTrue(leftOut.every(({ reason }) => reason === "abandoned"))
  for (const turn of lost)
    assert.isTrue(
      times[turn]!.every((count) => count === 0),
      `part of turn ${turn} is lost`
    )
  return lost
}

/** Answers of requests that nothing went on from, where something did from a later answer to the same prompt. */
const thrownAway = (kept: ReadonlyArray<Kept>): ReadonlyArray<number> =>
  kept
    .filter(({ asked, request }) => {
      const same = kept.filter((one) => one.asked === asked)
      return (
        same.every((one) => one.request !== request || !one.isContinued) &&
        same.some((one) => one.request > request && one.isContinued)
      )
    })
    .map(({ turn }) => turn)

const counted = (relations: ReadonlyArray<Relation>) => {
  const counts = { extended: 0, branched: 0, retried: 0, rewritten: 0, started: 0 }
  for (const relation of relations) counts[relation]++
  return counts
}

const property = (tokenizer: Tokenizer.TokenizerShape, plan: ReadonlyArray<Act>, isAppending: boolean) =>
  Effect.gen(function* () {
    const { expected, kept, log, prompts, session } = yield* play(tokenizer, plan)
    assert.deepStrictEqual(verify(yield* session.recording, log), thrownAway(kept))
    if (isAppending) {
      assert.deepStrictEqual(yield* session.counts, counted(expected))
      // The model reads what the template makes of the chat in the model's own words.
      for (const [index, { inputIds }] of log.entries()) {
        const spoken = prompts[index]!
        const whole = ChatPrompt.whole(tokenizer, spoken, { tools, preserveThinkBlocks: true })
        const framed = inputIds[0] === tokenizer.bosTokenId ? inputIds.slice(1) : inputIds
        assert.strictEqual(tokenizer.decode(framed), Option.getOrThrow(whole))
      }
    }
  })

const tiny = fileURLToPath(new URL("../fixtures/tiny-tokenizer", import.meta.url))

/** A template that says at the top how long the chat is: nothing of a chat is the beginning of a longer one. */
const counting: Tokenizer.TokenizerShape = {
  ...Tokenizer.bytes,
  name: "counting",
  applyChatTemplate: (messages, options) =>
    `${messages.length} messages\n${Tokenizer.bytes.applyChatTemplate(messages, options)}`
}

describe("token truth", () => {
  it.effect.prop("holds over any chats of a client", [acts], ([plan]) => property(Tokenizer.bytes, plan, true), {
    arbitrary: { runs: 100 }
  })

  layer(Tokenizer.layerHuggingFace(tiny))((it) => {
    it.effect.prop(
      "holds with a tokenizer that merges, and a template that drops earlier thinking",
      [acts],
      ([plan]) => Effect.flatMap(Tokenizer.Tokenizer, (tokenizer) => property(tokenizer, plan, true)),
      { arbitrary: { runs: 40 } }
    )
  })

  it.effect.prop(
    "holds with a template that rewrites what it wrote before",
    [acts],
    ([plan]) => property(counting, plan, false),
    { arbitrary: { runs: 100 } }
  )
})
