import { assert, describe, it } from "@effect/vitest"
import { Message, OutputFormats, Tokenizer, TrackedSequences } from "@atropos/core"
import { Effect } from "effect"

const { bytes } = Tokenizer
const end = "<|im_end|>"
const tools = [
  {
    type: "function",
    function: { name: "get", parameters: { type: "object", properties: { n: { type: "integer" } } } }
  }
]

/** Tokens of their own beside the bytes; the first ends a turn, and so do the others. */
const ends = [end, "<|call|>", "<|return|>"]
const idOf = (token: string): number => (token === end ? 258 : 300 + ends.indexOf(token))

/** A tokenizer of bytes and these, with somebody's chat template. */
const tokenizerWith = (
  chatTemplate: string,
  applyChatTemplate: Tokenizer.TokenizerShape["applyChatTemplate"]
): Tokenizer.TokenizerShape => ({
  ...bytes,
  name: chatTemplate,
  vocabularySize: 303,
  encode: (text) =>
    text
      .split(/(<\|call\|>|<\|return\|>)/)
      .flatMap((part, at) => (at % 2 === 0 ? Array.from(bytes.encode(part)) : [idOf(part)])),
  decode: (ids, options) => {
    let text = ""
    for (let at = 0, from = 0; at <= ids.length; at++) {
      if (at < ids.length && ids[at]! < 300) continue
      text += bytes.decode(Array.from(ids).slice(from, at), options)
      if (at < ids.length && options?.skipSpecialTokens !== true) text += ends[ids[at]! - 300]!
      from = at + 1
    }
    return text
  },
  chatTemplate: () => chatTemplate,
  applyChatTemplate
})

/** Opens thinking in the prompt, and drops that of all turns before the last question, as Qwen3.5 and GLM do. */
const thinking = tokenizerWith("<tool_call> <arg_key> </arg_key><arg_value>", (messages, { addGenerationPrompt }) => {
  const last = messages.findLastIndex(({ role }) => role === "user")
  const turns = messages.map((message, index) => {
    const text = Message.text(message)
    if (message.role !== "assistant") return `<|im_start|>${message.role}\n${text}${end}\n`
    const visible = text.split("</think>").at(-1) ?? ""
    const thought = text.includes("</think>") ? text.split("</think>")[0]!.split("<think>").at(-1)! : ""
    return `<|im_start|>assistant\n${index > last ? `<think>${thought}</think>` : ""}${visible}${end}\n`
  })
  return turns.join("") + (addGenerationPrompt ? "<|im_start|>assistant\n<think>" : "")
})

/** Writes calls in an order of its own, and names the tool of a result by the call before it, as that of gpt-oss. */
const channels = tokenizerWith("<|channel|>", (messages, { addGenerationPrompt }) => {
  let called: string | undefined
  const turns = messages.map((message) => {
    const [call] = message.tool_calls ?? []
    if (message.role === "user") return `<|start|>user<|message|>${Message.text(message)}<|end|>`
    if (message.role === "tool") {
      if (called === undefined) throw new Error("a result without a call")
      return `<|start|>functions.${called} to=assistant<|channel|>commentary<|message|>${JSON.stringify(message.content)}<|end|>`
    }
    called = call?.function.name
    return call === undefined
      ? `<|start|>assistant<|channel|>final<|message|>${Message.text(message)}<|end|>`
      : `<|start|>assistant to=functions.${call.function.name}<|channel|>commentary json<|message|>${call.function.arguments}<|call|>`
  })
  return turns.join("") + (addGenerationPrompt ? "<|start|>assistant" : "")
})

/** What ends an answer. */
const closing = (tokenizer: Tokenizer.TokenizerShape, answer: string): string => {
  if (tokenizer !== channels) return end
  return answer.includes("to=functions") ? "<|call|>" : "<|return|>"
}

/** A session whose answers are given; with what was asked and answered, in ids. */
const sessionOf = (tokenizer: Tokenizer.TokenizerShape, answers: ReadonlyArray<string>, finishReason = "stop") => {
  const log: Array<{ readonly asked: ReadonlyArray<number>; readonly tokens: ReadonlyArray<number> }> = []
  const session = TrackedSequences.make({
    tokenizer,
    reasoning: "apart",
    backend: {
      server: "given",
      tokens: ({ inputIds }) =>
        Effect.sync(() => {
          const tokens = tokenizer.encode(
            (answers[log.length] ?? "") + (finishReason === "stop" ? closing(tokenizer, answers[log.length] ?? "") : "")
          )
          log.push({ asked: inputIds, tokens })
          return [{ tokens, logprobs: tokens.map(() => -1), finishReason }]
        })
    }
  })
  return { session, log }
}

const call = (n: number) => ({ function: { name: "get", arguments: `{"n": ${n}}` } })

describe("a session in a model's own format", () => {
  for (const tokenizer of [thinking, channels]) {
    const format = OutputFormats.of(tokenizer)
    it.effect(`is one sequence of what was sampled, over calls, results and questions: ${format.name}`, () =>
      Effect.gen(function* () {
        const prompt = tokenizer.applyChatTemplate([Message.user("hi")], { addGenerationPrompt: true })
        const written = (message: Partial<Message.Message>) =>
          format.write({ role: "assistant", content: null, reasoning_content: "Hm.", ...message }, { prompt })
        const { log, session } = sessionOf(tokenizer, [
          written({ tool_calls: [call(1)] }),
          written({ content: "Again.", tool_calls: [call(2), call(3)] }),
          written({ content: "Done." }),
          written({ content: "Bye." })
        ])
        let messages: ReadonlyArray<Message.Message> = [Message.user("hi")]
        const seen: Array<unknown> = []
        for (let turn = 0; turn < 4; turn++) {
          const [choice] = yield* session.chat({ messages, tools })
          const { message, toolCalls } = choice!
          seen.push([message.content, message.reasoning_content, toolCalls.map((one) => one.function.arguments)])
          // Clients send arguments back as they write JSON, and mostly no thinking.
          const sent = {
            role: "assistant",
            content: message.content,
            tool_calls: toolCalls.map((one) => ({
              ...one,
              function: { name: "get", arguments: one.function.arguments.replace(" ", "") }
            }))
          }
          const results = toolCalls.map(({ id = "" }) => ({ role: "tool", content: "found", tool_call_id: id }))
          messages = [...messages, sent, ...(results.length > 0 ? results : [Message.user("more")])]
        }
        assert.deepStrictEqual(seen, [
          [null, "Hm.", ['{"n": 1}']],
          ["Again.", "Hm.", ['{"n": 2}', '{"n": 3}']],
          ["Done.", "Hm.", []],
          ["Bye.", "Hm.", []]
        ])
        const [trajectory, ...others] = yield* session.trajectories
        assert.lengthOf(others, 0)
        const { asked, tokens } = log.at(-1)!
        assert.deepStrictEqual(Array.from(trajectory!.tokens), [...asked, ...tokens])
        const trained = Array.from(trajectory!.tokens).filter((_, at) => trajectory!.mask[at] === 1)
        assert.deepStrictEqual(
          trained,
          log.flatMap((one) => one.tokens)
        )
        assert.deepInclude(yield* session.counts, { started: 1, extended: 3, rewritten: 0 })
      })
    )
  }

  it.effect("tells gpt-oss the results of its calls by name, in the order they came", () =>
    Effect.gen(function* () {
      const said = '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"n":1}'
      const { log, session } = sessionOf(channels, [said, "<|channel|>final<|message|>Done."])
      const [choice] = yield* session.chat({ messages: [Message.user("hi")], tools })
      const result = { role: "tool", content: 'say "x"', tool_call_id: choice!.toolCalls[0]!.id ?? "" }
      yield* session.chat({ messages: [Message.user("hi"), choice!.message, result], tools })
      assert.strictEqual(
        bytes.decode(log[1]!.asked.slice(log[0]!.asked.length + log[0]!.tokens.length)),
        '<|start|>functions.get to=assistant<|channel|>commentary<|message|>"say \\"x\\""<|end|><|start|>assistant'
      )
    })
  )

  it.effect("knows that thinking was cut off, though the prompt opened it", () =>
    Effect.gen(function* () {
      const { session } = sessionOf(thinking, ["Hm, let me"], "length")
      const [choice] = yield* session.chat({ messages: [Message.user("hi")], tools })
      assert.deepStrictEqual(
        [choice!.message.content, choice!.message.reasoning_content, choice!.finishReason],
        [null, "Hm, let me", "length"]
      )
    })
  )
})
