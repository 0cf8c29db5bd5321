import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { IdsRequest } from "../../src/inference/backend/Backend.ts"
import type { TokenChoice } from "../../src/inference/wire/Inference.ts"
import type { Message } from "../../src/trajectory/Message.ts"
import * as Labels from "../../src/trajectory/Labels.ts"
import { text as textOf } from "../../src/trajectory/Message.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import type * as Trajectory from "../../src/trajectory/Trajectory.ts"
import * as SessionTree from "../../src/inference/session/SessionTree.ts"
import * as TokenSequences from "../../src/inference/sequences/TokenSequences.ts"
import * as TokenTree from "../../src/inference/sequences/TokenTree.ts"
import * as TrackedSequences from "../../src/inference/sequences/TrackedSequences.ts"

/** One token per character, BOS 1, EOS 2: the tokenizer of the recordings. */
const characters: Tokenizer.TokenizerShape = {
  name: "characters",
  vocabularySize: 0x110000,
  bosTokenId: 1,
  eosTokenId: 2,
  encode: (text, { addSpecialTokens = true } = {}) => [
    ...(addSpecialTokens ? [1] : []),
    ...Array.from(text, (character) => character.codePointAt(0)!)
  ],
  decode: (ids) => Array.from(ids, (id) => (id > 31 ? String.fromCodePoint(id) : "")).join(""),
  applyChatTemplate: (messages, { addGenerationPrompt }) =>
    messages.map((message) => `<${message.role}>${textOf(message)}</${message.role}>`).join("") +
    (addGenerationPrompt ? "<assistant>" : "")
}

/** A back end that gives prepared answers and remembers what it was sent. */
const prepared = (answers: Array<ReadonlyArray<TokenChoice>>) => {
  const sent: Array<ReadonlyArray<number>> = []
  return {
    sent,
    backend: {
      server: "prepared",
      tokens: ({ inputIds }: IdsRequest) =>
        Effect.sync(() => {
          sent.push(inputIds)
          return answers.shift() ?? []
        })
    }
  }
}

interface Node {
  readonly full_text: string
  readonly tokens: ReadonlyArray<number>
  readonly masked_tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly metadata: { readonly finish_reason: string }
}
interface Scenario {
  readonly name: string
  readonly steps: ReadonlyArray<{
    readonly kind: "chat" | "completion"
    readonly input: string | ReadonlyArray<Message>
    readonly outputs: ReadonlyArray<{
      readonly text: string
      readonly eos: boolean
      readonly logprobs: ReadonlyArray<number>
      readonly finish: string | { readonly type: string }
    }>
    readonly sent: { readonly prompt: string; readonly input_ids: ReadonlyArray<number> }
    readonly choices: ReadonlyArray<{ readonly text: string; readonly finish_reason: string }>
    readonly nodes: ReadonlyArray<Node>
  }>
}

/** Recorded from the original's managed server. */
const { scenarios }: { readonly scenarios: ReadonlyArray<Scenario> } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../fixtures/managed-server.json", import.meta.url)), "utf8")
)

const replay = Effect.fnUntraced(function* ({ steps }: Scenario) {
  const { backend, sent } = prepared(
    steps.map(({ outputs }) =>
      outputs.map(({ eos, finish, logprobs, text }) => ({
        tokens: [...characters.encode(text, { addSpecialTokens: false }), ...(eos ? [2] : [])],
        logprobs,
        finishReason: typeof finish === "string" ? finish : finish.type
      }))
    )
  )
  const session = TrackedSequences.make({ backend, tokenizer: characters })
  const made = yield* Effect.forEach(steps, ({ input }, index) =>
    Effect.gen(function* () {
      const choices = yield* typeof input === "string"
        ? session.complete({ prompt: input })
        : session.chat({ messages: input })
      const { sequences } = yield* session.recording
      return {
        input_ids: sent[index],
        choices: choices.map(({ finishReason, text }) => ({ text, finish_reason: finishReason })),
        nodes: sequences.map(({ trajectory }) => toNode(trajectory))
      }
    })
  )
  return { made, leftOut: (yield* session.recording).leftOut }
})

const toNode = ({ finishReason, logprobs, mask, tokens }: Trajectory.Trajectory): Node => ({
  full_text: characters.decode(tokens),
  tokens: Array.from(tokens),
  masked_tokens: Array.from(Labels.ofMask(tokens, mask)),
  // 32-bit floats inside: the recording has few decimals.
  logprobs: Array.from(Labels.ofLogprobs(logprobs!), (logprob) => Math.round(logprob * 1e6) / 1e6),
  metadata: { finish_reason: finishReason }
})

const recorded = ({ steps }: Scenario) =>
  steps.map(({ choices, nodes, sent }) => ({ input_ids: sent.input_ids, choices, nodes }))

const lay = (over: ReadonlyArray<number>, base: ReadonlyArray<number>) => [...over, ...base.slice(over.length)]

/**
 * In the original, a text completion that extends a node masks what was sampled before (its logprobs become 1), and
 * branches that share a sampled turn both train it. Ours trains every sampled token once, in the first sequence that
 * has it, so the recording is compared with the earlier node's mask and logprobs laid over the beginning of the first
 * node that extends it, and with an untrained beginning in the others.
 */
const trainedOnce = (steps: ReturnType<typeof recorded>): ReturnType<typeof recorded> => {
  const known: Array<Node> = []
  return steps.map((step) => {
    const extended = new Set<Node>()
    const nodes = step.nodes.map((node): Node => {
      const earlier = known.findLast(({ tokens }) => tokens.every((id, index) => node.tokens[index] === id))
      if (earlier === undefined) return node
      const isFirst = !extended.has(earlier)
      extended.add(earlier)
      return {
        ...node,
        masked_tokens: lay(isFirst ? earlier.masked_tokens : earlier.tokens.map(() => -100), node.masked_tokens),
        logprobs: lay(isFirst ? earlier.logprobs : earlier.tokens.map(() => 1), node.logprobs)
      }
    })
    known.push(...nodes)
    return { ...step, nodes }
  })
}

describe("TrackedSequences against recordings of the original", () => {
  for (const scenario of scenarios) {
    it.effect(scenario.name, () =>
      Effect.gen(function* () {
        const { leftOut, made } = yield* replay(scenario)
        if (scenario.name.startsWith("short logprobs")) {
          // The original trains on logprobs that it made up.
          assert.deepStrictEqual(
            leftOut.map(({ reason, sequence }) => [sequence, reason]),
            [[0, "unsound"]]
          )
          assert.deepStrictEqual<unknown>(made[0]!.nodes, recorded(scenario)[0]!.nodes.slice(1))
          return
        }
        if (!scenario.name.startsWith("empty completion")) {
          assert.deepStrictEqual<unknown>(made, trainedOnce(recorded(scenario)))
          return
        }
        // docs/protocol.md, Q 54: the original goes on after a sampled end token that the new prompt does not contain;
        // ours starts afresh.
        assert.deepStrictEqual(
          made.map(({ input_ids: sent }) => sent),
          [
            [1, 97],
            [1, 97, 98]
          ]
        )
        assert.deepStrictEqual(
          made[1]?.nodes.map(({ masked_tokens: mask, tokens }) => ({ mask, tokens })),
          [
            { tokens: [1, 97, 2], mask: [-100, -100, 2] },
            { tokens: [1, 97, 98, 99], mask: [-100, -100, -100, 99] }
          ]
        )
      })
    )
  }
})

const answer = (text: string, ...policyVersion: ReadonlyArray<number>): TokenChoice => {
  const tokens = Tokenizer.bytes.encode(text)
  return {
    tokens,
    logprobs: tokens.map((_, index) => -0.5 - index),
    finishReason: tokens.at(-1) === 258 ? "stop" : "length",
    ...(policyVersion[0] !== undefined && { policyVersion: policyVersion[0] })
  }
}

const user = (content: string): Message => ({ role: "user", content })
const assistant = (content: string): Message => ({ role: "assistant", content })

/** The words a sequence trains on. */
const trained = ({ mask, tokens }: Pick<Trajectory.Trajectory, "mask" | "tokens">): string =>
  Tokenizer.bytes.decode(tokens.filter((_, at) => mask[at] === 1))
const whole = ({ tokens }: { readonly tokens: Int32Array }): string => Tokenizer.bytes.decode(tokens)

const bytesSession = (...answers: ReadonlyArray<ReadonlyArray<TokenChoice>>) => {
  const { backend, sent } = prepared([...answers])
  return { sent, session: TrackedSequences.make({ backend, tokenizer: Tokenizer.bytes }) }
}

const indices = (choices: ReadonlyArray<{ readonly sequence?: number }>) => choices.map(({ sequence }) => sequence)

describe("TrackedSequences", () => {
  it.effect("keeps every sampled turn trained and repeats no end token", () =>
    Effect.gen(function* () {
      const { session } = bytesSession([answer("yo<|im_end|>", 3)], [answer("ok<|im_end|>", 4)])
      yield* session.chat({ messages: [user("hi")] })
      yield* session.chat({ messages: [user("hi"), assistant("yo"), user("more")] })
      const [trajectory, ...others] = yield* session.trajectories
      assert.isEmpty(others)
      assert.strictEqual(
        whole(trajectory!),
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\nok<|im_end|>"
      )
      assert.strictEqual(trained(trajectory!), "yo<|im_end|>ok<|im_end|>")
      assert.strictEqual(trajectory!.completion, "ok")
      assert.strictEqual(trajectory!.policyVersion, 3)
      assert.deepStrictEqual(trajectory!.messages.at(-1), assistant("ok"))
    })
  )

  it.effect("tells which sequence every answer ended, also after branches", () =>
    Effect.gen(function* () {
      const { session } = bytesSession(
        [answer("x<|im_end|>"), answer("y<|im_end|>")],
        [answer("2<|im_end|>"), answer("3<|im_end|>")],
        [answer("1<|im_end|>")]
      )
      assert.deepStrictEqual(indices(yield* session.chat({ messages: [user("q")], n: 2 })), [0, 1])
      const second = session.chat({ messages: [user("q"), assistant("y"), user("n")], n: 2 })
      assert.deepStrictEqual(indices(yield* second), [1, 2])
      assert.deepStrictEqual(indices(yield* session.chat({ messages: [user("q"), assistant("x"), user("n")] })), [0])
      assert.deepStrictEqual((yield* session.trajectories).map(trained), [
        "x<|im_end|>1<|im_end|>",
        "y<|im_end|>2<|im_end|>",
        "3<|im_end|>"
      ])
    })
  )

  it.effect("continues the longest sequence, not the first", () =>
    Effect.gen(function* () {
      const { sent, session } = bytesSession([answer("b")], [answer("q"), answer("bc")], [answer("d")])
      yield* session.complete({ prompt: "a" })
      yield* session.complete({ prompt: "a", n: 2 })
      const [choice] = yield* session.complete({ prompt: "abc!" })
      assert.strictEqual(choice!.sequence, 2)
      assert.deepStrictEqual(sent[2], Tokenizer.bytes.encode("abc!"))
      // The first answer to "a" was thrown away: it was asked again, and that is what went on.
      assert.deepStrictEqual((yield* session.trajectories).map(trained), ["q", "bcd"])
    })
  )

  it.effect("sends tokens as they were sampled, not as the tokenizer would write them", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      const split = ["t", "h", "e", "n"].flatMap((letter) => tokenizer.encode(letter, { addSpecialTokens: false }))
      assert.notDeepEqual(tokenizer.encode("then", { addSpecialTokens: false }), split)
      const end = tokenizer.eosTokenId!
      const { backend, sent } = prepared([
        [{ tokens: [...split, end], logprobs: [-1, -1, -1, -1, -1], finishReason: "stop" }],
        [{ tokens: [end], logprobs: [-1], finishReason: "stop" }]
      ])
      const session = TrackedSequences.make({ backend, tokenizer })
      yield* session.chat({ messages: [user("hi")] })
      yield* session.chat({ messages: [user("hi"), assistant("then"), user("more")] })
      assert.deepStrictEqual(sent[1]!.slice(0, sent[0]!.length + 5), [...sent[0]!, ...split, end])
      assert.strictEqual(sent[0]![0], tokenizer.bosTokenId)
      assert.strictEqual(sent[1]!.filter((id) => id === tokenizer.bosTokenId).length, 1)
      assert.strictEqual(
        tokenizer.decode(sent[1]!.slice(1)),
        tokenizer.applyChatTemplate([user("hi"), assistant("then"), user("more")], { addGenerationPrompt: true })
      )
    }).pipe(
      Effect.provide(Tokenizer.layerHuggingFace(fileURLToPath(new URL("../fixtures/tiny-tokenizer", import.meta.url))))
    )
  )

  it.effect("keeps think blocks that the chat template drops from earlier turns", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      const turn = (text: string): TokenChoice => {
        const tokens = tokenizer.encode(text, { addSpecialTokens: false })
        return { tokens, logprobs: tokens.map(() => -1), finishReason: "stop" }
      }
      const chat = [user("hi"), assistant("<think>hm</think>\n\nyo"), user("more")]
      const count = (preserveThinkBlocks: boolean) =>
        Effect.gen(function* () {
          const { backend } = prepared([[turn("<think>hm</think>\n\nyo<|im_end|>")], [turn("ok<|im_end|>")]])
          const session = TrackedSequences.make({ backend, tokenizer, preserveThinkBlocks })
          yield* session.chat({ messages: chat.slice(0, 1) })
          yield* session.chat({ messages: chat })
          return (yield* session.trajectories).length
        })
      assert.strictEqual(yield* count(true), 1)
      assert.strictEqual(yield* count(false), 2)
    }).pipe(
      Effect.provide(Tokenizer.layerHuggingFace(fileURLToPath(new URL("../fixtures/tiny-tokenizer", import.meta.url))))
    )
  )

  it.effect("goes on inside a final assistant message", () =>
    Effect.gen(function* () {
      const { sent, session } = bytesSession([answer("4 is<|im_end|>")], [answer(" even<|im_end|>")])
      yield* session.chat({ messages: [user("hi"), assistant("I think ")] })
      assert.isTrue(Tokenizer.bytes.decode(sent[0]!).endsWith("<|im_start|>assistant\nI think "))
      assert.deepStrictEqual((yield* session.trajectories)[0]!.messages.at(-1), assistant("I think 4 is"))
      yield* session.chat({ messages: [user("hi"), assistant("I think 4 is")] })
      const [first, second] = yield* session.trajectories
      assert.strictEqual(trained(first!), "4 is<|im_end|>")
      assert.strictEqual(trained(second!), " even<|im_end|>")
      assert.isTrue(whole(second!).endsWith("I think 4 is even<|im_end|>"))
    })
  )

  it.effect("does not take an edited answer for the one that was sampled", () =>
    Effect.gen(function* () {
      const { session } = bytesSession([answer("yo<|im_end|>")], [answer("ok<|im_end|>")])
      yield* session.chat({ messages: [user("hi")] })
      yield* session.chat({ messages: [user("hi"), assistant("yoyo"), user("more")] })
      assert.deepStrictEqual((yield* session.trajectories).map(trained), ["yo<|im_end|>", "ok<|im_end|>"])
    })
  )

  it.effect("reads tool calls out of answers and renders them back as they were written", () =>
    Effect.gen(function* () {
      const written = 'Sure.\n<tool_call>{"name":"f",  "arguments":{"a":1}}</tool_call>'
      const tools = [{ type: "function", function: { name: "f" } }]
      const { session } = bytesSession([answer(`${written}<|im_end|>`)], [answer("done<|im_end|>")])
      const [called] = yield* session.chat({ messages: [user("hi")], tools })
      assert.strictEqual(called!.finishReason, "tool_calls")
      assert.strictEqual(called!.message.content, "Sure.\n")
      assert.deepStrictEqual(called!.toolCalls[0]!.function, { name: "f", arguments: '{"a": 1}' })
      const result = { role: "tool", content: "2", tool_call_id: called!.toolCalls[0]!.id! }
      yield* session.chat({ messages: [user("hi"), called!.message, result], tools })
      const trajectories = yield* session.trajectories
      assert.deepStrictEqual(trajectories.map(trained), [`${written}<|im_end|>done<|im_end|>`])
    })
  )

  it.effect("leaves calls as text when tools may not be chosen", () =>
    Effect.gen(function* () {
      const written = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
      const { session } = bytesSession([answer(`${written}<|im_end|>`)])
      const [choice] = yield* session.chat({ messages: [user("hi")], tools: [{ name: "f" }], toolChoice: "none" })
      assert.strictEqual(choice!.message.content, written)
      assert.strictEqual(choice!.finishReason, "stop")
      assert.isEmpty(choice!.toolCalls)
    })
  )

  it.effect("loses nothing when two calls continue the same sequence at once", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const answers = [[answer("yo<|im_end|>")], [answer("1<|im_end|>")], [answer("2<|im_end|>")]]
      let calls = 0
      const session = TrackedSequences.make({
        tokenizer: Tokenizer.bytes,
        backend: {
          server: "slow",
          tokens: () => {
            const mine = answers[calls++] ?? []
            return calls === 1 ? Effect.succeed(mine) : Effect.as(Deferred.await(gate), mine)
          }
        }
      })
      yield* session.chat({ messages: [user("hi")] })
      const next = (text: string) => session.chat({ messages: [user("hi"), assistant("yo"), user(text)] })
      const both = yield* Effect.forkChild(Effect.all([next("a"), next("b")], { concurrency: 2 }), {
        startImmediately: true
      })
      yield* Deferred.succeed(gate, undefined)
      const [[a], [b]] = yield* Fiber.join(both)
      assert.deepStrictEqual([a!.sequence, b!.sequence], [0, 1])
      assert.deepStrictEqual((yield* session.trajectories).map(trained), ["yo<|im_end|>1<|im_end|>", "2<|im_end|>"])
    })
  )

  it.effect("says where a server sent fewer logprobs than tokens", () =>
    Effect.gen(function* () {
      const { session } = bytesSession([{ tokens: [97, 98, 258], logprobs: [-0.5], finishReason: "stop" }])
      yield* session.complete({ prompt: "p" })
      const error = yield* Effect.flip(session.trajectories)
      assert.strictEqual(error.reason, "malformed")
      assert.strictEqual(
        error.message,
        "sequence 0, position 2 of 4: trained, but without a logprob of 0 or below (did the server send fewer logprobs than tokens?)\n" +
          "  position      token       mask    logprob\n" +
          "           0        112          0          -\n" +
          "           1         97          1    -0.5000\n" +
          ">          2         98          1          -\n" +
          "           3        258          1          -"
      )
    })
  )

  it.effect("leaves a sequence out that it cannot trust, and keeps the others", () =>
    Effect.gen(function* () {
      const { session } = bytesSession(
        [{ tokens: [97, 98, 258], logprobs: [-0.5], finishReason: "stop" }],
        [answer("yo<|im_end|>")]
      )
      yield* session.chat({ messages: [user("a")] })
      yield* session.chat({ messages: [user("b")] })
      const { leftOut } = yield* session.recording
      assert.deepStrictEqual(
        leftOut.map(({ reason, sequence }) => [sequence, reason]),
        [[0, "unsound"]]
      )
      assert.deepStrictEqual((yield* session.trajectories).map(trained), ["yo<|im_end|>"])
    })
  )

  it.effect("is as old as the oldest token that it trains, where weights changed in the middle of an answer", () =>
    Effect.gen(function* () {
      const { session } = bytesSession(
        [{ tokens: [97, 98, 258], logprobs: [-1, -1, -1], finishReason: "stop", policyVersions: [7, 5, 5] }],
        [answer("1<|im_end|>", 8), answer("2<|im_end|>", 9)]
      )
      yield* session.chat({ messages: [user("q")] })
      yield* session.chat({ messages: [user("q"), assistant("ab"), user("n")], n: 2 })
      const trajectories = yield* session.trajectories
      // The second has the first answer in its context only.
      assert.deepStrictEqual(
        trajectories.map(({ policyVersion }) => policyVersion),
        [5, 9]
      )
      const [first, second] = trajectories
      const place = first!.tokens.length - 3
      const at = first!.mask.indexOf(1)
      // The end of the first answer is not repeated in the prompt of the second, whose answer is of version 8.
      assert.deepStrictEqual(first!.versionRuns, Int32Array.of(at, 7, at + 1, 5, place + 1, 8))
      assert.isUndefined(second!.versionRuns)
    })
  )

  it("leaves out what is not what was sent or sampled", () => {
    const { bytes } = Tokenizer
    const tree = SessionTree.make<TokenTree.PromptTokens, TokenTree.AnswerTokens>()
    const ids = Int32Array.of(1, 2, 3)
    const checksum = TokenTree.checksum(TokenTree.seed, ids)
    const data = { base: undefined, ids, length: 3, checksum, text: undefined, isChat: true }
    const asking = tree.ask({ parent: undefined, asked: [user("q")], isOpen: false, tools: [], data })
    const time = { asked: 0, sent: 0, answered: 0 }
    const sampled = TokenTree.sampled(bytes, answer("yo<|im_end|>"), data, { isStopped: false, time })
    tree.record(asking, [{ message: assistant("yo"), text: "yo", data: sampled }], undefined)
    assert.strictEqual(TokenSequences.recording(bytes, tree.tips).sequences.length, 1)
    for (const changed of [ids, sampled.ids]) {
      const before = changed[0]!
      changed[0] = 99
      const { leftOut, sequences } = TokenSequences.recording(bytes, tree.tips)
      assert.isEmpty(sequences)
      assert.strictEqual(leftOut[0]?.reason, "altered")
      changed[0] = before
    }
  })

  it.effect.prop(
    "keeps its invariants over any conversation",
    [Schema.Array(Schema.Tuple([Schema.String, Schema.String]))],
    ([turns]) =>
      Effect.gen(function* () {
        const plain = turns.map(([question, reply]) =>
          [question, reply].map((text) => text.toWellFormed().replaceAll("<|", ""))
        )
        const { session } = bytesSession(...plain.map(([, reply]) => [answer(`${reply ?? ""}<|im_end|>`)]))
        const messages: Array<Message> = []
        for (const [question = ""] of plain) {
          messages.push(user(question))
          const [choice] = yield* session.chat({ messages: [...messages] })
          messages.push(choice!.message)
        }
        const trajectories = yield* session.trajectories
        assert.strictEqual(trajectories.length, Math.min(1, turns.length))
        for (const trajectory of trajectories) {
          assert.strictEqual(
            `${whole(trajectory)}\n`,
            Tokenizer.bytes.applyChatTemplate(messages, { addGenerationPrompt: false })
          )
          assert.strictEqual(
            trained(trajectory),
            messages
              .filter(({ role }) => role === "assistant")
              .map((message) => `${textOf(message)}<|im_end|>`)
              .join("")
          )
        }
      })
  )
})

describe("TrackedSequences.session over text answers", () => {
  it.effect("trains every turn that was sampled, with the tokenizer's tokens", () =>
    Effect.gen(function* () {
      const replies = ["yo", "ok"]
      const session = TrackedSequences.session({
        tokenizer: Tokenizer.bytes,
        backend: {
          server: "text",
          modelName: "text",
          capabilities: { tokens: false, promptLogprobs: false },
          chat: () =>
            Effect.sync(() => {
              const text = replies.shift() ?? ""
              return { choices: [{ message: assistant(text), text, toolCalls: [], finishReason: "stop" }] }
            }),
          complete: () => Effect.succeed({ choices: [] }),
          tokens: () => Effect.die("not a token server"),
          promptLogprobs: () => Effect.die("not a token server"),
          health: Effect.void
        }
      })
      yield* session.chat({ messages: [user("hi"), assistant("hand-written"), user("again")] })
      yield* session.chat({
        messages: [user("hi"), assistant("hand-written"), user("again"), assistant("yo"), user("more")]
      })
      const [trajectory, ...others] = yield* session.trajectories
      assert.isEmpty(others)
      assert.strictEqual(trained(trajectory!), "yo<|im_end|>\nok<|im_end|>\n")
      assert.isUndefined(trajectory!.logprobs)
    })
  )
})
