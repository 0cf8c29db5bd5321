import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger } from "effect"
import * as Waits from "../base/Waits.ts"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as SequenceLimit from "../../src/inference/sequences/SequenceLimit.ts"
import * as TestGateway from "./TestGateway.ts"

const { post } = TestGateway

const chat = (text: string, more: object = {}) => ({
  model: "any",
  messages: [{ role: "user", content: text }],
  ...more
})

const messageOf = (text: string): string => {
  const body = JSON.parse(text) as { readonly error?: { readonly message?: string } }
  return body.error?.message ?? ""
}

describe("sessions of the gateway", () => {
  it.live(
    "beyond the limit close the one that is longest without a request, and none that works or that a scope holds",
    () =>
      Effect.gen(function* () {
        const [gate, begun] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const ended: Array<string> = []
        yield* TestGateway.use(
          {
            script: (request) =>
              JSON.stringify(request).includes("hold")
                ? Deferred.succeed(begun, undefined).pipe(Effect.andThen(Deferred.await(gate)), Effect.as("yes"))
                : "yes",
            isControlled: true,
            sessions: 4,
            onEnd: ({ id }) => Effect.sync(() => void ended.push(id))
          },
          ({ gateway }) =>
            Effect.gen(function* () {
              const opened = Effect.map(post(`${gateway.url}/sessions`, {}), ({ status, text }) => ({
                status,
                ...(JSON.parse(text) as { readonly id: string; readonly base_url: string })
              }))
              const own = yield* gateway.open()
              const [working, first, second] = [yield* opened, yield* opened, yield* opened]
              const busy = yield* Effect.forkChild(post(`${working.base_url}/chat/completions`, chat("hold")))
              yield* Deferred.await(begun)
              // The first was used last.
              yield* post(`${second.base_url}/chat/completions`, chat("Hi"))
              yield* post(`${first.base_url}/chat/completions`, chat("Hi"))
              const third = yield* opened
              assert.deepStrictEqual([third.status, ended], [201, [second.id]])
              const late = yield* post(`${second.base_url}/chat/completions`, chat("Hi"))
              assert.strictEqual(late.status, 404)
              assert.include(messageOf(late.text), "it was idle for the longest time")
              yield* opened
              assert.deepStrictEqual(ended, [second.id, first.id])
              yield* Deferred.succeed(gate, undefined)
              assert.strictEqual((yield* Fiber.join(busy)).status, 200)
              assert.strictEqual((yield* post(`${own.baseURL}/chat/completions`, chat("Hi"))).status, 200)
            })
        )
      })
  )

  it.live("keep rewards by number, by components, and for one answer", () =>
    TestGateway.use({ script: ["yes"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const reward = (body: unknown) => post(`${session.anthropicBaseURL}/reward`, body)
        const answer = yield* post(`${session.baseURL}/chat/completions`, chat("Hi"))
        const { id } = JSON.parse(answer.text) as { readonly id: string }
        for (const body of [
          { reward: 0.7 },
          { rewards: { correct: 1, format: 0.5 } },
          { reward: -1, turn: 0 },
          `{"rewards": {"__proto__": 1, "brief": 2}, "turn": "${id}"}`
        ]) {
          assert.strictEqual((yield* reward(body)).status, 200)
        }
        assert.deepStrictEqual(yield* session.rewards, [
          { rewards: { reward: 0.7 } },
          { rewards: { correct: 1, format: 0.5 } },
          { rewards: { reward: -1 }, turn: 0 },
          { rewards: JSON.parse('{"__proto__": 1, "brief": 2}') as {}, turn: 0 }
        ])
        for (const [body, said] of [
          [{}, /"reward" or "rewards"/],
          [{ reward: 1, rewards: { a: 1 } }, /either "reward" or "rewards", not both/],
          [{ reward: "1" }, /^reward: must be a finite float32 number/],
          [{ rewards: { a: null } }, /^rewards\.a: must be a finite float32 number/],
          ['{"reward": 1e999}', /finite.*got Infinity/],
          [{ rewards: {} }, /at least one component/],
          [{ rewards: [1] }, /an object of numbers/],
          [{ reward: 1, turn: 1 }, /^turn: an index from 0 to 0/],
          [{ reward: 1, turn: "chatcmpl-other" }, /^turn/],
          [{ reward: 1, step: 0 }, /^step: unknown key/],
          [[1], /JSON object/],
          ['{"reward": 1, "reward": 0}', /twice/],
          ['{"reward": ', /not UTF-8 JSON, or incomplete/]
        ] as const) {
          const { status, text } = yield* reward(body)
          assert.strictEqual(status, 400, JSON.stringify(body))
          assert.match(messageOf(text), said)
        }
        assert.strictEqual((yield* session.rewards).length, 4)
      })
    )
  )

  it.live(
    "sample as the request says, by defaults where it says nothing, and as enforced above all, which is counted",
    () =>
      TestGateway.use({ script: ["yes"] }, ({ gateway }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open({ defaults: { temperature: 0.5, topP: 0.9 }, enforced: { topK: 0 } })
          const samplingOf = Effect.fnUntraced(function* (more: object) {
            yield* post(`${session.baseURL}/chat/completions`, chat(`Hi ${JSON.stringify(more)}`, more))
            const sampling = (yield* session.trajectories).at(-1)?.sampling
            return [sampling?.temperature, sampling?.topP, sampling?.topK]
          })
          assert.deepStrictEqual(yield* samplingOf({}), [0.5, 0.9, 0])
          assert.deepStrictEqual(yield* samplingOf({ temperature: 0, top_p: 1 }), [0, 1, 0])
          assert.deepStrictEqual(yield* samplingOf({ top_k: 5, user: "me" }), [0.5, 0.9, 0])
          const { ignored, overridden } = yield* session.counts
          assert.deepStrictEqual(overridden, { topK: 1 })
          assert.deepStrictEqual(ignored, { user: 1 })
        })
      )
  )

  it.live("mix the seed of a request with their own, and count it; without one of their own they leave it", () =>
    TestGateway.use({ script: (request) => String(request.seed) }, ({ gateway }) =>
      Effect.gen(function* () {
        const seedsOf = Effect.fnUntraced(function* (
          options: Gateway.SessionOptions,
          asked: ReadonlyArray<number | null>
        ) {
          const session = yield* gateway.open(options)
          const seeds: Array<number> = []
          for (const seed of asked) {
            const { text } = yield* post(`${session.baseURL}/chat/completions`, chat("Hi", { seed }))
            seeds.push(Number(JSON.parse(text).choices[0].message.content))
          }
          return [seeds, (yield* session.counts).overridden] as const
        })
        const [one, counted] = yield* seedsOf({ seed: 1 }, [7, 7, 8, null])
        assert.deepStrictEqual(counted, { seed: 3 })
        assert.strictEqual(one[0], one[1])
        assert.strictEqual(new Set(one).size, 3)
        assert.deepStrictEqual(yield* seedsOf({ seed: 1 }, [7]), [one.slice(0, 1), { seed: 1 }])
        const [other] = yield* seedsOf({ seed: 2 }, [7, 8])
        assert.strictEqual(new Set([...one, ...other]).size, 5)
        assert.deepStrictEqual(yield* seedsOf({}, [7]), [[7], {}])
        assert.deepStrictEqual(yield* seedsOf({ seed: 1, enforced: { seed: 5 } }, [7]), [[5], { seed: 1 }])
      })
    )
  )

  it.live("end after some time without a request, and say so", () =>
    TestGateway.use({ script: ["yes"], idle: "20 millis" }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const status = Effect.map(
          post(`${session.baseURL}/chat/completions`, { not: "a chat" }),
          ({ status, text }) => ({ status, message: messageOf(text) })
        )
        // What is refused is no use of the session.
        const over = yield* Waits.until("the end of the session", status, ({ status }) => status === 404)
        assert.match(over.message, /this session has ended \(no request for 20ms\)/)
      })
    )
  )

  it.live("are limited in number, in requests at once, and in the length of what the rollout may become", () =>
    TestGateway.use({ script: () => Effect.never, sessions: 1, requestsPerSession: 1 }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* SequenceLimit.within(4)(gateway.open())
        const refused = yield* Effect.flip(gateway.open())
        assert.match(refused.message, /has 1 open sessions/)
        const { status, text } = yield* post(`${session.baseURL}/chat/completions`, chat("longer than four tokens"))
        assert.strictEqual(status, 400)
        assert.match(text, /context_length_exceeded/)
      })
    )
  )

  it.live("answer requests side by side, and those under way end with the session", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let asked = 0
      yield* TestGateway.use(
        {
          requestsPerSession: 2,
          script: () =>
            ++asked === 2 ? Effect.andThen(Deferred.succeed(begun, undefined), Effect.never) : Effect.never
        },
        ({ gateway }) =>
          Effect.gen(function* () {
            const answers = yield* Effect.scoped(
              Effect.gen(function* () {
                const session = yield* gateway.open()
                const ask = post(`${session.baseURL}/chat/completions`, chat("Hi"))
                const asking = yield* Effect.forkDetach(Effect.all([ask, ask], { concurrency: 2 }))
                yield* Deferred.await(begun)
                const third = yield* ask
                assert.strictEqual(third.status, 429)
                assert.isNotNull(third.headers.get("retry-after-ms"))
                return asking
              })
            )
            for (const { status, text } of yield* Fiber.join(answers)) {
              assert.strictEqual(status, 404)
              assert.match(messageOf(text), /closed by its owner/)
            }
          })
      )
    })
  )

  it.live("answer a read of an unknown path with 404, which is no refused request; a POST to one is", () =>
    TestGateway.use({ script: () => "yes" }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const url = `${session.anthropicBaseURL}/api/hello`
        for (const method of ["HEAD", "GET"])
          assert.strictEqual((yield* Effect.promise(() => fetch(url, { method }))).status, 404)
        assert.isUndefined(yield* session.lastFailure)
        assert.strictEqual((yield* post(url, {})).status, 404)
        assert.include(yield* session.lastFailure, "unknown endpoint POST /api/hello")
      })
    )
  )

  it.live("are named in logs by their ids, never by their secrets", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ cause, message }) => void lines.push(JSON.stringify([message, String(cause)])))
    return TestGateway.use({ script: () => Effect.die(new Error("broken script")), idle: "1 second" }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const { status } = yield* post(`${session.baseURL}/chat/completions`, chat("Hi"))
        assert.strictEqual(status, 500)
        yield* Waits.untilTrue("a closed session", () => lines.join().includes("session closed"))
        assert.include(lines.join(), session.id)
        assert.notInclude(lines.join(), session.anthropicBaseURL.split("/").at(-1)!)
      })
    ).pipe(Effect.provide(Logger.layer([logger])))
  })
})
