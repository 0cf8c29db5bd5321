/**
 * Measures tracked sessions: the time of a turn by the length of the chat before it, and the memory of a session.
 *
 * `node --expose-gc --conditions=atropos-src bench/sessions.ts`. The server responds immediately, so all time is the
 * session's own: finding the chat in the tree, rendering and encoding the new messages, joining the ids, parsing the
 * answer. For comparison, rendering and encoding the whole chat is measured, which a session without a tree would do.
 * The tokenizer is the tests' small BPE one, with its chat template.
 */
import { type Message, Tokenizer, TrackedSequences } from "@atropos/core"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../packages/core/test/fixtures/tiny-tokenizer", import.meta.url))

const newWords = 20
const histories = [1024, 4096, 16_384, 32_768]
const turnsMeasured = 200
const sessionsHeld = 100

const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, at) => `word${(seed * 7919 + at * 104_729) % 9973}`).join(" ")

/** As over HTTP: requests share no objects with earlier ones. */
const asReceived = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> =>
  JSON.parse(JSON.stringify(messages)) as ReadonlyArray<Message.Message>

const open = (tokenizer: Tokenizer.TokenizerShape) => {
  const text = words(newWords, 1)
  const tokens = [...tokenizer.encode(text, { addSpecialTokens: false }), tokenizer.eosTokenId ?? 0]
  const logprobs = tokens.map(() => -1)
  return TrackedSequences.make({
    tokenizer,
    backend: { server: "instant", tokens: () => Effect.succeed([{ tokens, logprobs, finishReason: "stop" }]) }
  })
}

/** Processor time, since wall time includes the machine's other load. */
const processorMillis = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const before = process.cpuUsage()
    return Effect.map(effect, () => {
      const { system, user } = process.cpuUsage(before)
      return (system + user) / 1000
    })
  })

/** A chat of a number of tokens, grown in at most twenty turns. */
const grown = Effect.fnUntraced(function* (tokenizer: Tokenizer.TokenizerShape, tokens: number) {
  const session = open(tokenizer)
  const perWord = tokenizer.encode(words(200, 1)).length / 200
  const turns = Math.min(20, Math.ceil(tokens / 1024))
  const count = Math.max(1, Math.floor(tokens / turns / perWord) - newWords)
  let messages: ReadonlyArray<Message.Message> = [{ role: "system", content: "You are of help." }]
  let length = 0
  for (let turn = 0; turn < turns; turn++) {
    const request = asReceived([...messages, { role: "user", content: words(count, turn) }])
    const [choice] = yield* session.chat({ messages: request })
    messages = [...request, choice!.message]
    length = (choice!.usage?.promptTokens ?? 0) + (choice!.usage?.completionTokens ?? 0)
  }
  return { session, messages, length }
})

const turnCost = Effect.fnUntraced(function* (tokenizer: Tokenizer.TokenizerShape, tokens: number) {
  const { length, messages, session } = yield* grown(tokenizer, tokens)
  // Every turn continues from the same answer, so that the history keeps its length.
  const requests = Array.from({ length: turnsMeasured }, (_, turn) =>
    asReceived([...messages, { role: "user", content: words(newWords, 1000 + turn) }])
  )
  const ours = yield* processorMillis(Effect.forEach(requests, (request) => session.chat({ messages: request })))
  const some = requests.slice(0, turnsMeasured / 20)
  const whole = yield* processorMillis(
    Effect.sync(() => {
      for (const request of some) {
        const text = tokenizer.applyChatTemplate(request, { addGenerationPrompt: true })
        tokenizer.encode(text, { addSpecialTokens: false })
      }
    })
  )
  return { length, ours: ours / requests.length, whole: whole / some.length }
})

const held = (): number => {
  globalThis.gc?.()
  globalThis.gc?.()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const program = Effect.gen(function* () {
  const tokenizer = yield* Tokenizer.Tokenizer
  yield* turnCost(tokenizer, 32_768)
  console.log("processor time by history, tokens | a turn | whole chat rendered and encoded | ratio")
  for (const tokens of histories) {
    const { length, ours, whole } = yield* turnCost(tokenizer, tokens)
    console.log(`${length} | ${ours.toFixed(2)} ms | ${whole.toFixed(2)} ms | ${(whole / ours).toFixed(1)}`)
  }
  if (globalThis.gc === undefined) return console.log("memory: run node with --expose-gc")
  const before = held()
  const sessions = yield* Effect.forEach(Array.from({ length: sessionsHeld }), () => grown(tokenizer, 32_768))
  // The chat belongs to the client.
  const kept = sessions.map(({ length, session }) => ({ length, session }))
  sessions.length = 0
  const each = (held() - before) / kept.length
  const tokens = kept[0]!.length
  console.log(
    `a session of 20 turns and ${tokens} tokens holds ${(each / 1024).toFixed(0)} KiB, ${(each / tokens).toFixed(1)} bytes a token`
  )
})

await Effect.runPromise(program.pipe(Effect.provide(Tokenizer.layerHuggingFace(folder))))
