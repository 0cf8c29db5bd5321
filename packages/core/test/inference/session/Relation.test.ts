/** How requests are counted, in sessions of both kinds. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Message, text as textOf } from "../../../src/trajectory/Message.ts"
import type { TrackedSession } from "../../../src/inference/wire/Inference.ts"
import * as Scripted from "../../../src/inference/backend/Scripted.ts"
import * as Tokenizer from "../../../src/inference/tokenizer/Tokenizer.ts"
import * as TrackedSequences from "../../../src/inference/sequences/TrackedSequences.ts"

const system = (content: string): Message => ({ role: "system", content })
const user = (content: string): Message => ({ role: "user", content })
const assistant = (content: string): Message => ({ role: "assistant", content })

const opened = (tokenLevel: boolean) => {
  let count = 0
  const script = () => `this is answer number ${++count} of the model`
  const session = TrackedSequences.session({
    backend: Scripted.make(script, Tokenizer.bytes, { tokenLevel }),
    tokenizer: Tokenizer.bytes
  })
  const ask = (...messages: ReadonlyArray<Message>) =>
    Effect.map(session.chat({ messages }), ([choice]) => choice!.message)
  return { session, ask }
}

const none = { extended: 0, branched: 0, retried: 0, rewritten: 0, started: 0 }
const left = (session: TrackedSession) =>
  Effect.map(session.recording, ({ leftOut }) => leftOut.map(({ reason, sequence }) => [sequence, reason]))

for (const tokenLevel of [true, false]) {
  describe(`requests of a session ${tokenLevel ? "with" : "without"} exact tokens`, () => {
    it.effect("extend a chat, branch off it, and are asked again", () =>
      Effect.gen(function* () {
        const { ask, session } = opened(tokenLevel)
        const first = yield* ask(user("a"))
        const second = yield* ask(user("a"), first, user("b"))
        yield* ask(user("a"), first, user("b"), second, user("c"))
        yield* ask(user("a"), first, user("other"))
        yield* ask(user("a"), first, user("other"))
        assert.deepStrictEqual(yield* session.counts, { ...none, started: 1, extended: 2, branched: 1, retried: 1 })
      })
    )

    it.effect("of sub-agents start chats of their own, also under one system prompt", () =>
      Effect.gen(function* () {
        const { ask, session } = opened(tokenLevel)
        const first = yield* ask(system("plan"), user("a"))
        yield* ask(system("plan"), user("a"), first, user("b"))
        for (const task of ["one", "two"]) {
          const answer = yield* ask(system("search"), user(task))
          yield* ask(system("search"), user(task), answer, user("more"))
        }
        assert.deepStrictEqual(yield* session.counts, { ...none, started: 3, extended: 3 })
      })
    )

    it.effect("with a compacted history say that it was rewritten", () =>
      Effect.gen(function* () {
        const { ask, session } = opened(tokenLevel)
        const first = yield* ask(system("s"), user("a"))
        const second = yield* ask(system("s"), user("a"), first, user("b"))
        // An answer edited, one kept behind a summary, one quoted in it.
        yield* ask(system("s"), user("a"), assistant("edited"), user("b"))
        yield* ask(system("s"), user("so far: much"), second, user("c"))
        yield* ask(system("s"), user(`so far: ${textOf(second)}`), user("c"))
        assert.deepStrictEqual(yield* session.counts, { ...none, started: 1, extended: 1, rewritten: 3 })
        assert.strictEqual((yield* session.trajectories).length, 4)
      })
    )

    it.effect("with other tools begin a new sequence", () =>
      Effect.gen(function* () {
        const { session } = opened(tokenLevel)
        const tools = [{ type: "function", function: { name: "look" } }]
        const [choice] = yield* session.chat({ messages: [user("a")], tools })
        const more = [user("a"), choice!.message, user("b")]
        yield* session.chat({ messages: more, tools: [{ type: "function", function: { name: "other" } }] })
        // The same tools, parsed anew.
        yield* session.chat({ messages: more, tools: structuredClone(tools) })
        assert.deepStrictEqual(yield* session.counts, { ...none, started: 1, rewritten: 1, extended: 1 })
      })
    )

    it.effect("that threw an answer away leave it out once the chat goes on from a later one", () =>
      Effect.gen(function* () {
        const { ask, session } = opened(tokenLevel)
        yield* ask(user("a"))
        const kept = yield* ask(user("a"))
        assert.deepStrictEqual(yield* left(session), [])
        yield* ask(user("a"), kept, user("b"))
        assert.deepStrictEqual(yield* left(session), [[0, "abandoned"]])
        assert.strictEqual((yield* session.trajectories).length, 1)
      })
    )

    it.effect("keep the choices of one request that nothing goes on from", () =>
      Effect.gen(function* () {
        const { session } = opened(tokenLevel)
        const [first] = yield* session.chat({ messages: [user("a")], n: 3 })
        yield* session.chat({ messages: [user("a"), first!.message, user("b")] })
        assert.deepStrictEqual(yield* left(session), [])
        assert.strictEqual((yield* session.trajectories).length, 3)
      })
    )
  })
}
