/**
 * The gateway's overhead per request, compared with the same session in this process: 64 concurrent sessions of 20
 * turns, over a back end with a fixed latency and short answers.
 *
 *     node --conditions=atropos-src bench/Gateway.ts [sessions] [turns] [milliseconds of the back end] \
 *       [tokens of a turn] [rounds]
 *
 * Client, gateway and back end share one thread, so the client's own work is counted as the gateway's. Rounds with and
 * without the gateway alternate; the result is the difference of their means. Goal: 2 ms. Processor time is reported,
 * too: only it is meaningful on a machine under other load.
 */
import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { type Message, ServerManager } from "@atropos/core"
import * as Load from "./internal/Load.ts"

const [sessions = 64, turns = 20, latency = 250, turnTokens = 800, rounds = 3] = process.argv.slice(2).map(Number)
const goalMillis = 2
const words = "The quick brown fox jumps over the lazy dog, and then it does so once more. "

/** A token is a byte here. */
const repeats = Math.max(1, Math.round(turnTokens / 2 / words.length))
const answer = `I see. ${words.repeat(repeats)}`
const question = (turn: number): Message.Message => ({
  role: "user",
  content: `Turn ${turn}: ${words.repeat(repeats)}`
})

/** Milliseconds of each request of a session whose turns `ask` answers. */
const timesOf = (ask: (messages: ReadonlyArray<Message.Message>) => Effect.Effect<string>) =>
  Effect.gen(function* () {
    const messages: Array<Message.Message> = [{ role: "system", content: words.repeat(10) }]
    const times: Array<number> = []
    for (let turn = 0; turn < turns; turn++) {
      messages.push(question(turn))
      const from = performance.now()
      messages.push({ role: "assistant", content: yield* ask(messages) })
      times.push(performance.now() - from)
    }
    return times
  })

/** Staggers the starts of sessions over one answer's latency, so that their requests are spread out. */
const together = <E, R>(one: Effect.Effect<ReadonlyArray<number>, E, R>) =>
  Effect.map(
    Effect.all(
      Array.from({ length: sessions }, (_, index) => Effect.delay(one, (index * latency) / sessions)),
      { concurrency: "unbounded" }
    ),
    (all) => all.flat().sort((a, b) => a - b)
  )

const direct = Effect.scoped(
  Effect.gen(function* () {
    const session = yield* (yield* ServerManager.ServerManager).tracked()
    return yield* timesOf((messages) =>
      session.chat({ messages }).pipe(
        Effect.map(([choice]) => choice!.text),
        Effect.orDie
      )
    )
  })
)

const through = (pool: Load.Pool) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { baseURL } = yield* (yield* Gateway.Gateway).open()
      const { pathname, port } = new URL(baseURL)
      return yield* timesOf((messages) =>
        Effect.promise(async () => {
          const body = Buffer.from(JSON.stringify({ model: "any", messages }))
          const { body: text, status } = await pool.send(Number(port), {
            method: "POST",
            path: `${pathname}/chat/completions`,
            headers: { "content-type": "application/json" },
            body
          })
          if (status !== 200) throw new Error(`${status}: ${text.toString()}`)
          return (JSON.parse(text.toString()) as { choices: [{ message: { content: string } }] }).choices[0].message
            .content
        })
      )
    })
  )

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, one) => sum + one, 0) / values.length
const at = (values: ReadonlyArray<number>, share: number): number => values[Math.floor(values.length * share)]!

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)

interface Measured {
  readonly times: ReadonlyArray<number>
  /** Processor milliseconds per request. */
  readonly processor: number
}

const watched = <E, R>(asking: Effect.Effect<ReadonlyArray<number>, E, R>) =>
  Effect.suspend(() => {
    const from = process.cpuUsage()
    return Effect.map(asking, (times): Measured => {
      const { system, user } = process.cpuUsage(from)
      return { times, processor: (system + user) / 1000 / times.length }
    })
  })

const figures = ({ processor, times }: Measured): string =>
  `mean ${mean(times).toFixed(2)} ms, median ${at(times, 0.5).toFixed(2)} ms, 99th ${at(times, 0.99).toFixed(2)} ms; ` +
  `${processor.toFixed(2)} ms of the processor`

const measured = Effect.gen(function* () {
  console.log(`${sessions} sessions at once, ${turns} turns of ${turnTokens} tokens each, a back end of ${latency} ms`)
  const more: Array<number> = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const pool = new Load.Pool()
    const alone = yield* watched(together(direct))
    const gateway = yield* watched(together(through(pool)))
    pool.destroy()
    const { heapUsed, rss } = process.memoryUsage()
    console.log(`round ${round}: ${megabytes(rss)} MB of memory, ${megabytes(heapUsed)} MB of them the heap`)
    if (round === 0) continue
    const waited = mean(gateway.times) - mean(alone.times)
    more.push(waited)
    console.log(`  directly  ${figures(alone)}\n  gateway   ${figures(gateway)}`)
    console.log(
      `  ${waited.toFixed(2)} ms more, ${(mean(gateway.times) / mean(alone.times)).toFixed(4)} times; ` +
        `${(gateway.processor - alone.processor).toFixed(2)} ms more of the processor`
    )
  }
  const worst = Math.max(...more)
  console.log(
    `at most ${worst.toFixed(2)} ms more a request (goal ${goalMillis} ms${worst > goalMillis ? ", MISSED" : ""})`
  )
})

const servers = ServerManager.layerScripted([answer], { latency: `${latency} millis` })
await Effect.runPromise(Effect.scoped(Effect.provide(measured, Gateway.layer().pipe(Layer.provideMerge(servers)))))
