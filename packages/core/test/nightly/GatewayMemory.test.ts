/**
 * What sessions keep in memory: each message once and each token once, however often clients send the history again,
 * and nothing once they have ended.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as TestGateway from "../gateway/TestGateway.ts"

setFlagsFromString("--expose-gc")
// A context that is made after the flag was set has it.
const collect = runInNewContext("gc") as () => void

/** Bytes that are reachable. */
const reachable = (): number => {
  collect()
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

// Many: what connections hold by the way is a small share of each.
const sessions = 24
const turns = 16
const answer = "a".repeat(2000)
const tools = [{ type: "function", name: "look", description: "d".repeat(4000), parameters: {}, strict: false }]

interface Dialect {
  readonly path: string
  readonly body: (messages: ReadonlyArray<unknown>) => object
}
const dialects: Record<string, Dialect> = {
  "chat completions": {
    path: "/chat/completions",
    body: (messages) => ({ messages, tools: tools.map(({ type, ...one }) => ({ type, function: one })) })
  },
  responses: { path: "/responses", body: (input) => ({ input, tools, instructions: "i".repeat(4000) }) }
}

/** Every text differs, so that none is the same by chance. */
const question = (session: number, turn: number): string => `${session} ${turn} ${"q".repeat(2000)}`

/** Bytes of a session that holds each text and each token once: an id of every byte, a logprob of what was sampled. */
const once = (): number => {
  const before = reachable()
  const kept = Array.from({ length: sessions }, (_, session) => {
    const texts = Array.from({ length: turns }, (_, turn) => [question(session, turn), answer]).flat()
    const bytes = texts.map((text) => Buffer.from(text))
    return {
      // Texts of their own, as they come out of a request.
      texts: bytes.map((text) => text.toString("latin1")),
      ids: new Int32Array(bytes.reduce((sum, { length }) => sum + length, 0)),
      logprobs: new Float32Array(turns * answer.length)
    }
  })
  const held = reachable() - before
  assert.lengthOf(kept, sessions)
  return held / sessions
}

const send = (url: string, method: string, content?: object) =>
  Effect.promise(async () => {
    const headers = { "content-type": "application/json" }
    const response = await fetch(url, { method, headers, ...(content && { body: JSON.stringify(content) }) })
    assert.isBelow(response.status, 300)
    return (await response.json()) as Record<"id" | "base_url" | "reward_url", string>
  })

describe("the memory of a gateway", () => {
  it.live.each(Object.entries(dialects))(
    "holds each message and token of %s once, and nothing of sessions that have ended",
    ([, { body, path }]) =>
      TestGateway.use({ script: [answer], isControlled: true, isLogged: false }, ({ gateway }) =>
        Effect.gen(function* () {
          const wave = Effect.forEach(
            Array.from({ length: sessions }, (_, session) => session),
            Effect.fnUntraced(function* (session) {
              const { base_url: url, id, reward_url: reward } = yield* send(`${gateway.url}/sessions`, "POST", {})
              for (let turn = 0; turn < turns; turn++) {
                const asked = Array.from({ length: turn + 1 }, (_, at) => question(session, at))
                const chat = asked.flatMap((content, at) => [
                  ...(at === 0 ? [] : [{ role: "assistant", content: answer }]),
                  { role: "user", content }
                ])
                yield* send(`${url}${path}`, "POST", body(chat))
              }
              yield* send(reward, "POST", { reward: 1 })
              return id
            }),
            { concurrency: 4 }
          )
          const end = (ids: ReadonlyArray<string>) =>
            Effect.forEach(ids, (id) => send(`${gateway.url}/sessions/${id}`, "DELETE"), { discard: true })
          yield* Effect.flatMap(wave, end)
          const before = reachable()
          const ids = yield* wave
          const held = (reachable() - before) / sessions
          yield* end(ids)
          const left = (reachable() - before) / sessions
          const least = once()
          assert.isAbove(held, 0.9 * least)
          assert.isBelow(held, 1.2 * least, "bytes of an open session")
          assert.isBelow(left, least / 4, "bytes of an ended session")
        })
      )
  )
})
