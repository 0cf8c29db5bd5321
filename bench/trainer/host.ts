/**
 * Cost of computing an objective over logprobs from elsewhere: 64 sequences of 2,048 trained tokens, in the executor's
 * thread, and how long it blocks the caller's event loop.
 *
 * `node --conditions=atropos-src bench/trainer/host.ts [rounds]`, by default 20 rounds after one warm-up.
 */
import { HostObjective, OrtWorker, Preset } from "@atropos/trainer"
import { Effect, Result } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"

const [rounds = "20"] = process.argv.slice(2)
const sequences = 64
const tokens = 2048

const made = Array.from({ length: sequences }, (_, i) => {
  const sampled = Float32Array.from({ length: tokens + 1 }, (_, t) => -1 - ((t * 31 + i * 7) % 100) / 50)
  return {
    tokens: new Int32Array(tokens + 1),
    mask: new Uint8Array(tokens + 1).fill(1),
    advantages: new Float32Array(tokens + 1).fill(i % 2 === 0 ? 1 : -1),
    engineLogprobs: sampled,
    refLogprobs: sampled.map((logprob) => logprob - 0.1),
    temperature: 1,
    score: i % 2,
    policyVersion: 0,
    group: Math.floor(i / 8)
  }
})
const items = made.map((_, sequence) => ({ sequence, length: tokens, trained: tokens, weight: 1 / sequences / tokens }))
const logprobs = made.map(({ engineLogprobs }) =>
  engineLogprobs.subarray(1).map((logprob, t) => logprob + ((t % 7) - 3) / 20)
)

const cases = [
  { preset: "grpo" },
  { preset: "grpo", klCoef: 0.1, klImportance: true },
  { preset: "gspo", klCoef: 0.1 }
] as const

const measure = Effect.fnUntraced(function* (settings: (typeof cases)[number]) {
  const host = yield* HostObjective.make(Result.getOrThrow(Preset.resolve(settings)))
  const evaluate = host.evaluate({ sequences: made, items }, logprobs)
  yield* evaluate
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const millis: Array<number> = []
  const all = process.cpuUsage()
  const own = process.threadCpuUsage()
  for (let round = 0; round < Number(rounds); round++) {
    const start = performance.now()
    yield* evaluate
    millis.push(performance.now() - start)
    yield* Effect.yieldNow
  }
  delay.disable()
  const perRound = ({ system, user }: NodeJS.CpuUsage) => ((system + user) / 1000 / Number(rounds)).toFixed(1)
  const cpu = { all: perRound(process.cpuUsage(all)), own: perRound(process.threadCpuUsage(own)) }
  const sorted = millis.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1)
  console.log(
    `${JSON.stringify(settings)}: fastest ${at(0)} ms, median ${at(0.5)} ms, worst ${at(1)} ms; ` +
      `CPU: ${cpu.all} ms, ${cpu.own} ms of it in the caller's thread; ` +
      `event loop: longest delay ${(delay.max / 1e6).toFixed(1)} ms`
  )
})

await Effect.runPromise(
  Effect.forEach(cases, (settings) => Effect.scoped(measure(settings))).pipe(Effect.provide(OrtWorker.layer()))
)
