/** Rewards of single answers in a gateway's recording: each counts for the conversation that has this very answer. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerManager } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import * as Recorder from "../src/gateway/Recorder.ts"
import * as Bin from "./Bin.ts"

interface Answer {
  readonly id: string
  readonly choices: ReadonlyArray<{ readonly message: { readonly content: string } }>
}

const rowsOf = Effect.fnUntraced(function* (file: string) {
  const text = yield* (yield* FileSystem.FileSystem).readFileString(file)
  return text
    .trim()
    .split("\n")
    .map((line): { readonly [column: string]: unknown } => JSON.parse(line))
})

type Ask = (...texts: ReadonlyArray<string>) => Effect.Effect<Answer>
type Rate = (answer: Answer, reward: number) => Effect.Effect<{ readonly status: number; readonly text: string }>

const textsOf = (messages: unknown) =>
  (messages as ReadonlyArray<{ readonly content: string }>).map(({ content }) => content).join(" | ")

/** What is recorded of chats that are answered with their last message: the chats with their scores, and the others. */
const recordedOf = (converse: (ask: Ask, rate: Rate) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const file = `${yield* Bin.folder}/sessions.jsonl`
    const fs = yield* FileSystem.FileSystem
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { onChange, onEnd } = yield* Recorder.make(file, undefined)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const servers = ServerManager.layerScripted(
              (request) => `Echo ${"messages" in request ? (request.messages.at(-1)?.content as string) : ""}`
            )
            const gateway = Gateway.layer({ hasConversations: true, onEnd, onChange })
            const { url } = Context.get(yield* Layer.build(Layer.provide(gateway, servers)), Gateway.Gateway)
            const send = (path: string, body: unknown) =>
              Effect.promise(async () => {
                const headers = { "content-type": "application/json" }
                const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
                return { status: answer.status, text: await answer.text() }
              })
            yield* converse(
              (...texts) =>
                Effect.map(
                  send("/v1/chat/completions", {
                    model: "any",
                    messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }))
                  }),
                  ({ text }) => JSON.parse(text) as Answer
                ),
              ({ id }, reward) => send("/reward", { answer: id, reward })
            )
          })
        )
      })
    )
    const scored = (yield* rowsOf(file)).flatMap(({ messages, scores }) =>
      (messages as ReadonlyArray<unknown>).map(
        (chat, at) => [textsOf(chat), (scores as ReadonlyArray<number>)[at]] as const
      )
    )
    const unscoredFile = file.replace(".jsonl", ".unscored.jsonl")
    const unscored = (yield* fs.exists(unscoredFile)) ? yield* rowsOf(unscoredFile) : []
    return {
      scored: scored.toSorted(([a, one], [b, other]) => a.localeCompare(b) || one! - other!),
      unscored: unscored.map(({ messages }) => textsOf(messages)).toSorted()
    }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

describe("a reward of an answer", () => {
  it.effect("counts for its own conversation, where several begin with the same chat", () =>
    Effect.gen(function* () {
      const recorded = yield* recordedOf((ask, rate) =>
        Effect.gen(function* () {
          for (const _ of [1, 2]) yield* ask("hi")
          const first = yield* ask("hi", "Echo hi", "one")
          const second = yield* ask("hi", "Echo hi", "two")
          yield* rate(second, 0.2)
          yield* rate(first, 0.1)
          // Both continue in the same words.
          for (const _ of [1, 2]) yield* ask("twin")
          const twins = [yield* ask("twin", "Echo twin", "more"), yield* ask("twin", "Echo twin", "more")]
          yield* rate(twins[0]!, 0.9)
          yield* rate(twins[1]!, 0.3)
        })
      )
      assert.deepStrictEqual(recorded, {
        scored: [
          ["hi | Echo hi | one | Echo one", 0.1],
          ["hi | Echo hi | two | Echo two", 0.2],
          ["twin | Echo twin | more | Echo more", 0.3],
          ["twin | Echo twin | more | Echo more", 0.9]
        ],
        unscored: []
      })
    })
  )

  it.effect("counts until another one of the same conversation comes, whichever answer that names", () =>
    Effect.gen(function* () {
      const recorded = yield* recordedOf((ask, rate) =>
        Effect.gen(function* () {
          const first = yield* ask("hi")
          yield* rate(first, 1)
          const last = yield* ask("hi", "Echo hi", "more")
          yield* rate(last, -1)
          yield* rate(first, 0.5)
        })
      )
      assert.deepStrictEqual(recorded, { scored: [["hi | Echo hi | more | Echo more", 0.5]], unscored: [] })
    })
  )

  it.effect("is kept where another conversation with the same chat continues, whichever of the two is named", () =>
    Effect.gen(function* () {
      for (const [ended, isEarly] of [
        [0, true],
        [0, false],
        [1, true],
        [1, false]
      ] as const) {
        const recorded = yield* recordedOf((ask, rate) =>
          Effect.gen(function* () {
            const equal = [yield* ask("hi"), yield* ask("hi")] as const
            if (isEarly) yield* rate(equal[ended], -1)
            const last = yield* ask("hi", "Echo hi", "go on")
            if (!isEarly) yield* rate(equal[ended], -1)
            yield* rate(last, 1)
          })
        )
        assert.deepStrictEqual(recorded.scored, [
          ["hi | Echo hi", -1],
          ["hi | Echo hi | go on | Echo go on", 1]
        ])
      }
    })
  )

  it.effect("counts for one branch of a chat that was continued twice, or asked again", () =>
    Effect.gen(function* () {
      const recorded = yield* recordedOf((ask, rate) =>
        Effect.gen(function* () {
          const first = yield* ask("hi")
          yield* rate(yield* ask("hi", "Echo hi", "one"), 0.1)
          yield* rate(yield* ask("hi", "Echo hi", "two"), 0.2)
          yield* ask("hi", "Echo hi", "three")
          yield* rate(first, 0.5)
          yield* ask("new")
          const again = [yield* ask("new", "Echo new", "x"), yield* ask("new", "Echo new", "x")]
          yield* rate(again[0]!, -1)
          yield* rate(yield* ask("new", "Echo new", "x", "Echo x", "y"), 1)
        })
      )
      assert.deepStrictEqual(recorded, {
        scored: [
          ["hi | Echo hi", 0.5],
          ["hi | Echo hi | one | Echo one", 0.1],
          ["hi | Echo hi | two | Echo two", 0.2],
          ["new | Echo new | x | Echo x", -1],
          ["new | Echo new | x | Echo x | y | Echo y", 1]
        ],
        unscored: ["hi | Echo hi | three | Echo three"]
      })
    })
  )

  it.effect(
    "counts for the sequences of an agent that rewrites its history, and for none of a request sent again",
    () =>
      Effect.gen(function* () {
        const recorded = yield* recordedOf((ask, rate) =>
          Effect.gen(function* () {
            yield* ask("task")
            yield* ask("task", "Echo task", "long output")
            yield* ask("task", "Echo task", "long output")
            yield* ask("task", "Echo task", "long output", "Echo long output", "next")
            yield* rate(yield* ask("task", "Echo task", "cut", "Echo long output", "next", "Echo next", "last"), 1)
          })
        )
        assert.deepStrictEqual(recorded, {
          scored: [
            ["task | Echo task | cut | Echo long output | next | Echo next | last | Echo last", 1],
            ["task | Echo task | long output | Echo long output | next | Echo next", 1]
          ],
          unscored: []
        })
      })
  )

  it.effect("is refused where equal chats have continued, and it cannot be known whose answer it was", () =>
    Effect.gen(function* () {
      const recorded = yield* recordedOf((ask, rate) =>
        Effect.gen(function* () {
          const equal = [yield* ask("hi"), yield* ask("hi")] as const
          yield* rate(yield* ask("hi", "Echo hi", "one"), 0.1)
          yield* ask("hi", "Echo hi", "two")
          const { status, text } = yield* rate(equal[0], 1)
          assert.strictEqual(status, 400)
          assert.match(text, /it is not known which of them the reward is for: give the id of a later answer/)
        })
      )
      assert.deepStrictEqual(recorded, {
        scored: [["hi | Echo hi | one | Echo one", 0.1]],
        unscored: ["hi | Echo hi | two | Echo two"]
      })
    })
  )
})
