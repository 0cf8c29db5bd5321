import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, type ScoredGroup, Tokenizer } from "@atropos/core"
import * as GroupFilter from "@atropos/core/rollout/submit/GroupFilter"
import { SftLoader } from "@atropos/envs"
import { Effect, Layer, Option, References, Result, Stream } from "effect"

const { bytes } = Tokenizer
const chat = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "2 + 2?" },
  { role: "assistant", content: "4" },
  { role: "user", content: "3 + 3?" },
  { role: "assistant", content: "6" }
]
const conversation = [
  { from: "human", value: "2 + 2?" },
  { from: "gpt", value: "4" }
]
const sum = { type: "function", function: { name: "sum", parameters: { type: "object", properties: {} } } }
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
const calling = (args: unknown) => [
  { role: "user", content: "1+1=" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name: "sum", arguments: args } }]
  },
  { role: "tool", tool_call_id: "c", content: "2" },
  { role: "assistant", content: "2" }
]
const tables = {
  texts: [{ text: "one" }, { text: "two" }, { text: "three" }],
  pairs: [{ question: "2+2=", answer: 4 }],
  chats: [{ messages: chat }, { messages: JSON.stringify(chat.slice(1, 3)) }],
  conversations: [{ conversations: conversation }],
  strangers: [{ conversations: [{ from: "oracle", value: "42" }] }],
  questions: [{ messages: chat.slice(0, 2) }],
  tools: [{ messages: chat.slice(1, 3), tools: [sum] }],
  toolTexts: [{ messages: chat.slice(1, 3), functions: JSON.stringify([sum]) }],
  pictures: [{ messages: [{ role: "user", content: [picture] }, chat[2]] }],
  calls: [{ messages: calling('{"a":1}') }],
  callsOfObjects: [{ messages: calling({ a: 1 }) }],
  nulls: [{ messages: chat.slice(1, 3).map((one) => ({ ...one, tool_calls: null, tool_call_id: null, name: null })) }],
  parts: [
    {
      messages: chat
        .slice(1, 3)
        .map(({ content, role }) => ({ role, content: [{ type: "text", text: content, url: null }] }))
    }
  ],
  noContent: [{ messages: [{ role: "user" }, chat[2]] }],
  oddTools: [{ messages: chat.slice(1, 3), tools: "sum" }]
}

const loaded = <A, E>(
  effect: Effect.Effect<A, E, Environment.Environment>,
  given: Parameters<typeof SftLoader.layer>[0],
  tokenizer = Tokenizer.layerBytes
) =>
  Effect.provide(effect, SftLoader.layer(given).pipe(Layer.provide([tokenizer, Dataset.layerMemory(tables)])), {
    local: true
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

const groups = (count: number) =>
  Effect.flatMap(Environment.Environment, (environment) =>
    environment.groups.pipe(Stream.take(count), Stream.runCollect)
  )
const firstGroup = Effect.map(groups(1), ([group]) => group!)

/** The text that is trained. */
const trained = ({ masks: [mask], tokens: [tokens] }: ScoredGroup.ScoredGroup) =>
  bytes.decode(tokens!.filter((_, at) => mask![at] === 1))

describe("SftLoader", () => {
  it.effect("makes a row a group of one: score 1, told to be supervised, accepted as it is", () =>
    Effect.gen(function* () {
      const group = yield* loaded(firstGroup, { source: "texts", format: "completion", column: "text" })
      assert.deepStrictEqual(Array.from(group.scores), [1])
      assert.deepStrictEqual(group.overrides, [{ sft: true }])
      assert.deepStrictEqual(group.groupOverrides, { sft: true, group_size: 1 })
      assert.notProperty(group, "inferenceLogprobs")
      const filter = { groupSize: 8, ensureScoresAreNotSame: false, includeMessages: true, maxTokenLength: 100 }
      assert.isTrue(Result.isSuccess(GroupFilter.filter(group, filter)))
    })
  )

  it.effect("trains all of a text and its end", () =>
    Effect.gen(function* () {
      const group = yield* loaded(firstGroup, {
        source: "texts",
        format: "completion",
        column: "text",
        seed: 3
      })
      assert.deepStrictEqual(trained(group), bytes.decode(group.tokens[0]!))
      assert.match(trained(group), /^(<\|endoftext\|>)?(one|two|three)<\|im_end\|>$/)
    })
  )

  it.effect("trains what follows a prompt, tokenised as it would be sampled, and its end", () =>
    Effect.gen(function* () {
      const group = yield* loaded(firstGroup, { source: "pairs" })
      const { messages, tokens } = group
      assert.strictEqual(trained(group), "4<|im_end|>")
      assert.deepStrictEqual(Array.from(tokens[0]!), [
        ...bytes.encode("2+2="),
        ...bytes.encode("4", { addSpecialTokens: false }),
        258
      ])
      assert.deepStrictEqual(
        messages![0]!.map(({ content, role }) => [role, content]),
        [
          ["user", "2+2="],
          ["assistant", "4"]
        ]
      )
    })
  )

  it("ends a text once, and not in the middle, whatever the tokenizer puts around texts", () => {
    const encode: typeof bytes.encode = (text, { addSpecialTokens = true } = {}) => [
      ...bytes.encode(text, { addSpecialTokens: false }),
      ...(addSpecialTokens ? [bytes.eosTokenId!] : [])
    ]
    const ending = { ...bytes, encode }
    assert.strictEqual(bytes.decode(SftLoader.textTrajectory(ending, "2+2=", "4").tokens), "2+2=4<|im_end|>")
    assert.strictEqual(bytes.decode(SftLoader.textTrajectory(ending, "", "4").tokens), "4<|im_end|>")
    const endless = { ...bytes, eosTokenId: undefined }
    assert.match(bytes.decode(SftLoader.textTrajectory(endless, "2+2=", "4").tokens), /2\+2=4$/)
  })

  it.effect("trains the assistant's turns of a chat, or the last one alone; lists may be JSON texts", () =>
    Effect.gen(function* () {
      const of = (train: "assistants" | "last") =>
        Effect.map(loaded(groups(2), { source: "chats", format: "oai_format", column: "messages", train }), (all) =>
          all.map((group) => trained(group).replaceAll("\n", "")).sort()
        )
      assert.deepStrictEqual(yield* of("assistants"), ["4<|im_end|>", "4<|im_end|>6<|im_end|>"])
      assert.deepStrictEqual(yield* of("last"), ["4<|im_end|>", "6<|im_end|>"])
    })
  )

  it.effect("reads chats as data sets of Hugging Face have them: arguments as objects, absent keys as null", () =>
    Effect.gen(function* () {
      const messages = { format: "oai_format", column: "messages" } as const
      const of = (source: string) => loaded(firstGroup, { source, ...messages })
      const [text, object] = [yield* of("calls"), yield* of("callsOfObjects")]
      assert.include(bytes.decode(text.tokens[0]!), '{"name": "sum", "arguments": {"a":1}}')
      assert.deepStrictEqual(object.tokens, text.tokens)
      assert.deepStrictEqual(object.messages, text.messages)
      const plain = bytes.applyChatTemplate(chat.slice(1, 3), { addGenerationPrompt: false })
      for (const source of ["nulls", "parts"]) assert.strictEqual(bytes.decode((yield* of(source)).tokens[0]!), plain)
      const missing = yield* Effect.flip(of("noContent"))
      assert.match(String(missing), /must be a list of messages, each with role and content/)
    })
  )

  it.effect("reads ShareGPT's conversations", () =>
    Effect.gen(function* () {
      const group = yield* loaded(firstGroup, {
        source: "conversations",
        format: "sharegpt_format",
        column: "conversations"
      })
      assert.deepStrictEqual(
        group.messages![0]!.map(({ role }) => role),
        ["user", "assistant"]
      )
      assert.strictEqual(trained(group).trim(), "4<|im_end|>")
    })
  )

  it.effect("renders the tools of a chat, which are not trained, unless the column is unset", () =>
    Effect.gen(function* () {
      const messages = { format: "oai_format", column: "messages" } as const
      const expected = bytes.applyChatTemplate(tables.tools[0]!.messages, { addGenerationPrompt: false, tools: [sum] })
      for (const given of [{ source: "tools" }, { source: "toolTexts", toolsColumn: "functions" }]) {
        const group = yield* loaded(firstGroup, { ...given, ...messages })
        assert.strictEqual(bytes.decode(group.tokens[0]!), expected)
        assert.strictEqual(trained(group).trim(), "4<|im_end|>")
      }
      const group = yield* loaded(firstGroup, { source: "tools", ...messages, toolsColumn: null })
      assert.notInclude(bytes.decode(group.tokens[0]!), "sum")
    })
  )

  it.effect("says what a column must be, and why a chat cannot be trained on", () =>
    Effect.gen(function* () {
      const why = (given: Parameters<typeof SftLoader.layer>[0], tokenizer = Tokenizer.layerBytes) =>
        loaded(
          Effect.gen(function* () {
            const { work } = yield* Environment.Environment
            const { rollOut } = Option.getOrThrow(yield* Stream.runHead(work(0)))
            return String(yield* Effect.flip(rollOut))
          }),
          given,
          tokenizer
        ).pipe(Effect.catchTag("DatasetError", ({ message }) => Effect.succeed(message)))
      assert.match(
        yield* why({ source: "strangers", format: "sharegpt_format", column: "conversations" }),
        /"conversations" \(column\) must be a list of turns, each with from \(system, human, gpt, tool\).*oracle/
      )
      assert.match(
        yield* why({ source: "texts", format: "oai_format", column: "text" }),
        /"text" \(column\) must be a list of messages, each with role and content, got "one"/
      )
      assert.match(yield* why({ source: "questions", format: "oai_format", column: "messages" }), /no turn to train on/)
      const messages = { format: "oai_format", column: "messages" } as const
      assert.match(yield* why({ source: "pictures", ...messages }), /the chat has pictures or other parts/)
      assert.match(yield* why({ source: "oddTools", ...messages }), /"tools" \(tools_column\) must be a list of tools/)
      const without = Layer.succeed(Tokenizer.Tokenizer, {
        ...bytes,
        applyChatTemplate: (chat, { addGenerationPrompt }) => bytes.applyChatTemplate(chat, { addGenerationPrompt })
      })
      assert.match(
        yield* why({ source: "tools", ...messages }, without),
        /the chat template of bytes does not write the tools of the row: set tools_column to None/
      )
      const rejecting = Layer.succeed(Tokenizer.Tokenizer, {
        ...bytes,
        applyChatTemplate: () => {
          throw new Error("roles must alternate")
        }
      })
      assert.match(yield* why({ source: "chats", ...messages }, rejecting), /Unscorable.*roles must alternate/)
    })
  )

  it.effect("goes through the rows as often as told, from any place on, in an order of the seed", () =>
    Effect.gen(function* () {
      const labels = (epochs: number, cursor: number) =>
        loaded(
          Effect.flatMap(Environment.Environment, ({ work }) =>
            work(cursor).pipe(
              Stream.take(10),
              Stream.map(({ label }) => label),
              Stream.runCollect
            )
          ),
          { source: "texts", format: "completion", column: "text", epochs }
        )
      const twice = yield* labels(2, 0)
      assert.strictEqual(twice.length, 6)
      assert.deepStrictEqual(twice.slice(0, 3).toSorted(), ["one", "three", "two"])
      assert.deepStrictEqual(yield* labels(2, 4), twice.slice(4))
      assert.deepStrictEqual(yield* labels(2, 7), [])
      assert.strictEqual((yield* labels(-1, 0)).length, 10)
    })
  )
})
