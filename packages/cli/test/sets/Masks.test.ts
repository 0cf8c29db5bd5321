/** What rows mark as the model's, held against the masks of the tokens that they are made of. */
import { assert, describe, it } from "@effect/vitest"
import { type Message, type ScoredGroup, Tokenizer } from "@atropos/core"
import { Result, Schema } from "effect"
import * as Layout from "../../src/sets/Layout.ts"
import type * as Rendering from "../../src/sets/Rendering.ts"
import * as Sample from "../../src/sets/Sample.ts"

const { applyChatTemplate, decode, encode } = Tokenizer.bytes
const end = "<|im_end|>"

const Turn = Schema.Struct({
  asked: Schema.Literals(["user", "tool", "system"]),
  question: Schema.Literals(["", "Why?", "x".repeat(60), "日本語 🙂", end, "\n"]),
  answer: Schema.Literals(["", "ok", "ok", "It is 2.", "y".repeat(80), "größe", "two\nlines\n"]),
  isCall: Schema.Boolean,
  isTrained: Schema.Boolean
})
const Case = Schema.Struct({
  turns: Schema.Array(Turn).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  goesOn: Schema.Boolean,
  isCut: Schema.Boolean
})

interface Made {
  readonly group: ScoredGroup.ScoredGroup
  readonly chat: ReadonlyArray<Message.Message>
  /** The places of the trained messages. */
  readonly trained: ReadonlyArray<number>
}

/** A chat with the tokens that a session records: what the model wrote ends with its end token. */
const make = ({ goesOn, isCut, turns }: typeof Case.Type): Made => {
  const chat: Array<Message.Message> = []
  const trained: Array<number> = []
  const tokens: Array<number> = []
  const mask: Array<number> = []
  const add = (text: string, isTrained: boolean): void => {
    for (const id of encode(text)) {
      tokens.push(id)
      mask.push(isTrained ? 1 : 0)
    }
  }
  const lastTrained = turns.findLastIndex(({ isTrained }) => isTrained)
  for (const [at, { answer, asked, isCall, isTrained, question }] of turns.entries()) {
    chat.push({ role: asked, content: question })
    const call = { id: "c", type: "function", function: { name: "look", arguments: '{"a": 1}' } }
    const message: Message.Message = { role: "assistant", content: answer, ...(isCall && { tool_calls: [call] }) }
    add(applyChatTemplate([chat.at(-1)!], { addGenerationPrompt: true }), false)
    const text = applyChatTemplate([message], { addGenerationPrompt: false }).slice("<|im_start|>assistant\n".length)
    if (isTrained) trained.push(chat.length)
    chat.push(message)
    const isOver = isCut && at === lastTrained && message.content !== ""
    add(isOver ? text.slice(0, -`${end}\n`.length) : text.slice(0, -1), isTrained)
    if (isOver && at === turns.length - 1) break
    if (at < turns.length - 1 || goesOn) add(isOver ? `${end}\n` : "\n", false)
  }
  if (goesOn) {
    chat.push({ role: "user", content: "Right." })
    add(applyChatTemplate([chat.at(-1)!], { addGenerationPrompt: false }), false)
  }
  const group = {
    tokens: [Int32Array.from(tokens)],
    masks: [Uint8Array.from(mask)],
    scores: Float64Array.of(1),
    messages: [chat],
    ...(isCut && turns[lastTrained]?.answer !== "" && { overrides: [{ finish_reason: "length" }] })
  }
  return { group, chat, trained }
}

const rowOf = (group: ScoredGroup.ScoredGroup, form: Sample.Form, format: Layout.Format) => {
  const [sample] = Sample.ofGroup(group, { form, maxTokens: Number.POSITIVE_INFINITY })
  return Result.flatMap(sample!, (one): Result.Result<Layout.Laid, string> => Layout.sft(format, one))
}

/** Few chats are too short to show which of their turns a mask trains; none is marked wrongly. */
const isUnclear = (laid: ReturnType<typeof rowOf>): boolean => Result.isFailure(laid) && laid.failure === "unclear_mask"

const tokens: Sample.Form = { _tag: "Text", tokenizer: Tokenizer.bytes, from: "tokens", dropBos: false }
const throughTemplate: Sample.Form = { ...tokens, from: "messages" }
const messages: Sample.Form = { _tag: "Messages" }

/** Where the mask's last trained token is, and what is trained up to there. */
const upToLast = (mask: ArrayLike<number>): ReadonlyArray<number> => {
  const all = Array.from(mask)
  return all.slice(0, all.lastIndexOf(1) + 1)
}

/** Ids that are the prompt's at the beginning are trained in no session. */
const isPlain = ({ turns }: typeof Case.Type): boolean =>
  turns.every(({ answer, isCall }) => answer !== "" || isCall) && turns.every(({ question }) => question !== end)

const maskOf = (row: Layout.Row): { readonly mask: ReadonlyArray<number>; readonly text: string } => {
  const segments = row["segments"] as ReadonlyArray<Rendering.Segment>
  return {
    text: segments.map(({ text }) => text).join(""),
    mask: segments.flatMap(({ label, text }) => encode(text).map(() => (label ? 1 : 0)))
  }
}

/** The group with the tokens of tools, which its messages do not have, in front. */
const withTools = (group: ScoredGroup.ScoredGroup): ScoredGroup.ScoredGroup => {
  const tools = Array.from({ length: 9 }, (_, index) => ({ type: "function", function: { name: `tool${index}` } }))
  const heading = encode(applyChatTemplate([], { addGenerationPrompt: false, tools }))
  return {
    ...group,
    tokens: group.tokens.map((row) => Int32Array.from([...heading, ...row])),
    masks: group.masks.map((row) => Uint8Array.from([...heading.map(() => 0), ...row]))
  }
}

describe("what rows mark as the model's", () => {
  for (const [from, form] of [
    ["tokens", tokens],
    ["messages", throughTemplate]
  ] as const) {
    it.prop(`is, in Axolotl's segments of text from ${from}, what the mask trains`, [Case], ([given]) => {
      const { group } = make(given)
      const laid = rowOf(group, form, "axolotl")
      if (!group.masks[0]!.includes(1)) return assert.deepStrictEqual(laid, Result.fail("nothing_written"))
      const { mask, text } = maskOf(Result.getOrThrow(laid).row)
      const expected = upToLast(group.masks[0]!)
      assert.deepStrictEqual(upToLast(mask), expected, text)
      assert.strictEqual(
        decode(encode(text).slice(0, expected.length)),
        decode(group.tokens[0]!.subarray(0, expected.length))
      )
    })
  }

  it.prop("is, in Axolotl's messages, what the mask trains", [Case], ([given]) => {
    const { chat, group, trained } = make(given)
    const laid = rowOf(group, messages, "axolotl")
    if (trained.length === 0) return assert.deepStrictEqual(laid, Result.fail("nothing_written"))
    if (!isPlain(given) || isUnclear(laid)) return
    const { messages: told } = Result.getOrThrow(laid).row as { messages: ReadonlyArray<{ train: boolean }> }
    assert.deepStrictEqual(
      told.flatMap(({ train }, at) => (train ? [at] : [])),
      trained,
      JSON.stringify(chat)
    )
    assert.strictEqual(told.length, trained.at(-1)! + 1)
  })

  it.prop("is what the mask trains, for every chat where a tokenizer counts its messages", [Case], ([given]) => {
    const { group, trained } = make({ ...given, isCut: false })
    if (trained.length === 0 || !isPlain(given)) return
    for (const one of [group, withTools(group)]) {
      const laid = rowOf(one, { ...messages, tokenizer: Tokenizer.bytes }, "axolotl")
      const { messages: told } = Result.getOrThrow(laid).row as { messages: ReadonlyArray<{ train: boolean }> }
      assert.deepStrictEqual(
        told.flatMap(({ train }, at) => (train ? [at] : [])),
        trained
      )
    }
  })

  it.prop("is, in TRL's rows, a completion from the first trained turn to the last", [Case], ([given]) => {
    const { chat, group, trained } = make(given)
    const laid = rowOf(group, messages, "trl")
    if (trained.length === 0) return assert.deepStrictEqual(laid, Result.fail("nothing_written"))
    if (!isPlain(given) || isUnclear(laid)) return
    const between = chat.filter(
      ({ role }, at) => role === "assistant" && at > trained[0]! && at < trained.at(-1)! && !trained.includes(at)
    )
    if (between.length > 0) return assert.deepStrictEqual(laid, Result.fail("untrained_turn"))
    const { completion, prompt } = Result.getOrThrow(laid).row as Record<string, ReadonlyArray<unknown>>
    assert.strictEqual(prompt!.length, trained[0])
    assert.strictEqual(prompt!.length + completion!.length, trained.at(-1)! + 1)
  })

  it.prop("is, in TRL's text, what is behind the prompt, through the template as from tokens", [Case], ([given]) => {
    const { group } = make({ ...given, goesOn: false })
    if (!group.masks[0]!.includes(1)) return
    const [sampled, rendered] = [tokens, throughTemplate].map(
      (form) => Result.getOrThrow(rowOf(group, form, "trl")).row
    )
    assert.strictEqual(rendered!["prompt"], sampled!["prompt"])
  })
})
