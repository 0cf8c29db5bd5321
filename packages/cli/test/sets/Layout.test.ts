import { assert, describe, it } from "@effect/vitest"
import { type Message, type ScoredGroup, Tokenizer } from "@atropos/core"
import { Result } from "effect"
import * as Layout from "../../src/sets/Layout.ts"
import type * as Rendering from "../../src/sets/Rendering.ts"
import * as RowFile from "../../src/sets/RowFile.ts"
import * as Sample from "../../src/sets/Sample.ts"
import * as SampleGroups from "./SampleGroups.ts"

const call = { id: "c1", type: "function", function: { name: "sum", arguments: '{"of":[1,1]}' } }
const asked: Message.Message = { role: "user", content: "What is 1 + 1?" }
const example: ReadonlyArray<Message.Message> = [
  { role: "user", content: "What is 3 + 3?" },
  { role: "assistant", content: "6" }
]

/** An example in the prompt, then a tool call, its result, and an answer: two turns that the model wrote. */
const withTool = (answer: string): ReadonlyArray<Message.Message> => [
  ...example,
  asked,
  { role: "assistant", content: null, tool_calls: [call] },
  { role: "tool", content: "2", tool_call_id: "c1" },
  { role: "assistant", content: answer, reasoning_content: "hm", reward: 0.5 }
]

const group = (...answers: ReadonlyArray<string>): ScoredGroup.ScoredGroup =>
  SampleGroups.group(
    3,
    answers.map((answer, index) => ({ chat: withTool(answer), score: 1 - index }))
  )

const messages: Sample.Form = { _tag: "Messages" }
const text: Sample.Form = { _tag: "Text", tokenizer: Tokenizer.bytes, from: "tokens", dropBos: false }

const samples = (given: ScoredGroup.ScoredGroup, form: Sample.Form): ReadonlyArray<Sample.Sample> =>
  Sample.ofGroup(given, { form, maxTokens: Number.POSITIVE_INFINITY }).map(Result.getOrThrow)

const row = (result: Result.Result<Layout.Laid, Layout.Reason>) =>
  Result.match(result, { onSuccess: ({ row }): unknown => row, onFailure: (reason) => reason })

const sft = (format: Layout.Format, form: Sample.Form) => row(Layout.sft(format, samples(group("2."), form)[0]!))
const dpo = (format: Layout.Format, form: Sample.Form, given = group("2.", "3.")) => {
  const [chosen, rejected] = samples(given, form)
  return row(Layout.dpo(format, chosen!, rejected!))
}

const kept = (answer: string) => [
  // TRL's chat templates take arguments as objects.
  { role: "assistant", content: null, tool_calls: [{ ...call, function: { name: "sum", arguments: { of: [1, 1] } } }] },
  { role: "tool", content: "2", tool_call_id: "c1" },
  { role: "assistant", content: answer, reasoning_content: "hm" }
]

const bare = (...chats: ReadonlyArray<ReadonlyArray<Message.Message>>): ScoredGroup.ScoredGroup => ({
  tokens: chats.map(() => new Int32Array()),
  masks: chats.map(() => new Uint8Array()),
  scores: Float64Array.from(chats, (_, index) => 1 - index),
  messages: chats
})
const assistant = (content: string): Message.Message => ({ role: "assistant", content })

/** A template that writes these roles, and calls if named. */
const roles = (kept: ReadonlyArray<string>) => (chat: ReadonlyArray<unknown>) =>
  (chat as ReadonlyArray<Message.Message>)
    .flatMap(({ content, role, tool_calls: calls = [] }) =>
      kept.includes(role)
        ? [`${role}: ${JSON.stringify(content)}`, kept.includes("calls") ? JSON.stringify(calls) : ""]
        : []
    )
    .join("\n")

describe("rows of several turns", () => {
  it("take for the prompt what stands before the first turn that the mask gives to the model", () => {
    assert.deepStrictEqual(sft("trl", messages), { prompt: [...example, asked], completion: kept("2."), score: 1 })
    assert.deepStrictEqual(sft("trl-messages", messages), {
      messages: [...example, asked, ...kept("2.")],
      score: 1
    })
    // The original's have the messages as they came.
    assert.deepStrictEqual(sft("original", messages), { messages: withTool("2."), score: 1 })
  })

  it("tell Axolotl which messages to train on, and which parts of a text", () => {
    const { messages: told } = sft("axolotl", messages) as { readonly messages: ReadonlyArray<{ train: boolean }> }
    assert.deepStrictEqual(
      told.map(({ train }) => train),
      [false, false, false, true, false, true]
    )
    const { segments } = sft("axolotl", text) as { readonly segments: ReadonlyArray<Rendering.Segment> }
    assert.deepStrictEqual(
      segments.map(({ label }) => label),
      [false, true, false, true]
    )
    assert.strictEqual(segments[3]?.text, "2.<|im_end|>\n")
    assert.include(segments[1]?.text, '<tool_call>{"name": "sum"')
  })

  it("give TRL the arguments of calls as its chat templates take them, with numbers as written", () => {
    const argumentsOf = (written: string) => {
      const { function: named } = call
      const called = { ...call, function: { ...named, arguments: written } }
      const answer = { role: "assistant", content: null, tool_calls: [called] }
      const [sample] = samples(bare([asked, answer]), messages)
      const line = (format: Layout.Format) => RowFile.lineOf(row(Layout.sft(format, sample!)) as Layout.Row)
      assert.include(line("axolotl"), `"arguments":${JSON.stringify(written)}`)
      assert.include(line("original"), `"arguments":${JSON.stringify(written)}`)
      return /"arguments":(.*?)\}\}\]/.exec(line("trl"))?.[1]
    }
    assert.strictEqual(argumentsOf('{"id": 12345678901234567890, "x": 1.0}'), '{"id":12345678901234567890,"x":1.0}')
    assert.strictEqual(argumentsOf(""), "{}")
    for (const other of ["{", '"a"', "[1]"]) assert.strictEqual(argumentsOf(other), JSON.stringify(other))
  })

  it("make pairs of all that was written, where the format has room for it", () => {
    assert.deepStrictEqual(dpo("trl", messages), {
      prompt: [...example, asked],
      chosen: kept("2."),
      rejected: kept("3."),
      score_chosen: 1,
      score_rejected: 0
    })
    assert.strictEqual(dpo("axolotl", messages), "several_messages")
    const written = dpo("trl", text) as { readonly prompt: string; readonly chosen: string }
    assert.isTrue(written.prompt.endsWith("What is 1 + 1?<|im_end|>\n<|im_start|>assistant\n"))
    assert.isTrue(written.chosen.endsWith("2.<|im_end|>\n"))
  })
})

describe("rows of groups without tokens", () => {
  it("take the last turn for what was written", () => {
    const [sample] = samples(bare([...example, asked, assistant("2"), { role: "user", content: "Right." }]), messages)
    assert.deepStrictEqual(row(Layout.sft("trl", sample!)), {
      prompt: [...example, asked],
      completion: [{ role: "assistant", content: "2" }],
      score: 1
    })
  })

  it("pair chats from where a turn of the model's differs", () => {
    const ask: Message.Message = { role: "user", content: "Sure?" }
    const given = bare([asked, assistant("2"), ask, assistant("Yes.")], [asked, assistant("3"), ask, assistant("No.")])
    assert.deepInclude(dpo("trl", messages, given), {
      prompt: [asked],
      chosen: [assistant("2"), ask, assistant("Yes.")],
      rejected: [assistant("3"), ask, assistant("No.")]
    })
    const other = bare([asked, assistant("2")], [{ role: "user", content: "What is 2 + 2?" }, assistant("3")])
    assert.strictEqual(dpo("trl", messages, other), "prompts_differ")
    assert.strictEqual(dpo("trl", messages, bare([asked, assistant("2")], [asked, assistant("2")])), "same_completion")
  })

  it("name roles as chat templates do, and tell those that Axolotl does not know", () => {
    const given = bare(
      [
        { role: "environment", content: "You see a door." },
        { role: "agent", content: "open" }
      ],
      [
        { role: "environment", content: "You see a door." },
        { role: "agent", content: "wait" }
      ]
    )
    assert.deepInclude(dpo("axolotl", messages, given), {
      messages: [{ role: "user", content: "You see a door." }],
      chosen: { role: "assistant", content: "open" }
    })
    const [odd] = samples(bare([{ role: "narrator", content: "Once" }, assistant("so")]), messages)
    assert.strictEqual(row(Layout.sft("axolotl", odd!)), "unknown_role")
    assert.deepInclude(row(Layout.sft("trl", odd!)), { completion: [{ role: "assistant", content: "so" }] })
  })

  it("have a text through the chat template, where it renders a prompt as the beginning of the whole", () => {
    const through: Sample.Form = { ...text, from: "messages" }
    const [sample] = samples(bare([asked, assistant("2")]), through)
    assert.deepStrictEqual(row(Layout.sft("trl", sample!)), {
      prompt: "<|im_start|>user\nWhat is 1 + 1?<|im_end|>\n<|im_start|>assistant\n",
      completion: "2<|im_end|>\n",
      score: 1
    })
    const dated = { ...Tokenizer.bytes, applyChatTemplate: (chat: ReadonlyArray<unknown>) => `${chat.length} messages` }
    const [misfit] = Sample.ofGroup(bare([asked, assistant("2")]), {
      form: { ...through, tokenizer: dated },
      maxTokens: 100
    })
    assert.deepStrictEqual(misfit, Result.fail("template_misfit"))
    const plain: ReadonlyArray<Message.Message> = [
      { role: "system", content: "Be brief." },
      asked,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "2", tool_call_id: "c1" },
      assistant("2.")
    ]
    const all = ["system", "user", "assistant", "tool", "calls"]
    const tagOf = (kept: ReadonlyArray<string>, chat = plain) =>
      Sample.ofGroup(bare(chat), {
        form: { ...through, tokenizer: { ...Tokenizer.bytes, applyChatTemplate: roles(kept) } },
        maxTokens: 100
      }).map((one) => (Result.isFailure(one) ? one.failure : one.success._tag))
    assert.deepStrictEqual(tagOf(all), ["Text"])
    for (const role of ["system", "tool", "calls"]) {
      assert.deepStrictEqual(tagOf(all.filter((one) => one !== role)), ["template_omits"], role)
    }
    const thoughtful = [asked, { role: "assistant", content: "2.", reasoning_content: "One more than one." }]
    assert.deepStrictEqual(tagOf(all, thoughtful), ["template_omits"])
  })
})

const inParts = (text: string) => ({
  role: "user",
  content: [
    { type: "text", text },
    { type: "text", text: "!" }
  ]
})

describe("rows that a form has no room for", () => {
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
  const seen: Message.Message = { role: "user", content: [{ type: "text", text: "What is this?" }, picture] }

  it("refuse pairs of Axolotl whose answers are more than text, which it would train without the rest", () => {
    const answers: ReadonlyArray<Message.Message> = [
      { role: "assistant", content: "2.", reasoning_content: "One more than one." },
      { role: "assistant", content: "I compute.", tool_calls: [call] },
      { role: "assistant", content: [{ type: "text", text: "2." }, picture] }
    ]
    for (const answer of answers) {
      assert.strictEqual(dpo("axolotl", messages, bare([asked, answer], [asked, assistant("3.")])), "several_messages")
      assert.strictEqual(dpo("axolotl", messages, bare([asked, assistant("3.")], [asked, answer])), "several_messages")
      assert.notStrictEqual(dpo("trl", messages, bare([asked, answer], [asked, assistant("3.")])), "several_messages")
    }
    const parts: Message.Message = { role: "assistant", content: [{ type: "text", text: "2." }], reasoning_content: "" }
    assert.deepInclude(dpo("axolotl", messages, bare([asked, parts], [asked, assistant("3.")])), {
      chosen: assistant("2.")
    })
  })

  it("have one text where parts are all text, so that a column of texts holds no lists", () => {
    const chats = [
      [inParts("Hi"), assistant("2.")],
      [inParts("Hi"), assistant("3.")]
    ]
    assert.deepInclude(dpo("trl", messages, bare(...chats)), { prompt: [{ role: "user", content: "Hi!" }] })
    const seenToo = [
      [seen, assistant("2.")],
      [seen, assistant("3.")]
    ]
    assert.deepInclude(dpo("trl", messages, bare(...seenToo)), { prompt: [seen] })
  })

  it("refuse text of a chat with pictures, from its tokens as from its messages", () => {
    const chat = [seen, assistant("A cat.")]
    const reasons = (given: ScoredGroup.ScoredGroup, from: "tokens" | "messages") =>
      Sample.ofGroup(given, { form: { ...text, from }, maxTokens: 100 }).map((one) =>
        Result.isFailure(one) ? one.failure : one.success._tag
      )
    assert.deepStrictEqual(reasons(bare(chat), "messages"), ["pictures"])
    const tokenized = SampleGroups.group(1, [{ chat, score: 1 }])
    assert.deepStrictEqual(reasons(tokenized, "tokens"), ["pictures"])
    assert.deepStrictEqual(reasons({ ...tokenized, messages: [[asked, assistant("2")]] }, "tokens"), ["Text"])
    assert.deepInclude(row(Layout.sft("trl", samples(bare(chat), messages)[0]!)), { prompt: [seen] })
  })
})

describe("text of tokens", () => {
  it("leaves out a mark of the beginning that the tokenizer adds again, where the reader will have it added", () => {
    const [bos = 0] = Tokenizer.bytes.encode("<|endoftext|>")
    const plain = SampleGroups.sum(1, [["2", 1]])
    const withBos: ScoredGroup.ScoredGroup = {
      ...plain,
      tokens: plain.tokens.map((row) => Int32Array.from([bos, ...row])),
      masks: plain.masks.map((row) => Uint8Array.from([0, ...row]))
    }
    const adding: Tokenizer.TokenizerShape = {
      ...Tokenizer.bytes,
      encode: (text, options) => [
        ...(options?.addSpecialTokens === false ? [] : [bos]),
        ...Tokenizer.bytes.encode(text)
      ]
    }
    const promptOf = (form: Sample.Form) => (row(Layout.sft("trl", samples(withBos, form)[0]!)) as Layout.Row)["prompt"]
    const form = { ...text, tokenizer: adding }
    assert.match(String(promptOf(form)), /^<\|endoftext\|><\|im_start\|>system/)
    assert.match(String(promptOf({ ...form, dropBos: true })), /^<\|im_start\|>system/)
    // One that adds none leaves the text as it was.
    assert.match(String(promptOf({ ...text, dropBos: true })), /^<\|endoftext\|>/)
  })
})
