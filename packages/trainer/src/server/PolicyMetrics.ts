/**
 * Metrics of the policy server, and the Prometheus text at `/metrics`: this process's counters and the engine's current
 * state.
 */
import { Effect, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { newestOf } from "./AdapterApi.ts"
import type { EngineStatus } from "../engine/Engine.ts"
import type { ServedPolicy } from "./ServedPolicy.ts"

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

const requests = Metric.histogram("atropos.policy.request.seconds", {
  description: "Time from request to answer (if streamed, to the first chunk), by endpoint and status",
  boundaries: seconds
})

const byLabels = new Map<string, Metric.Metric<number, unknown>>()

export const answered = (endpoint: string, status: number, elapsedSeconds: number): Effect.Effect<void> => {
  const key = `${endpoint} ${status}`
  let metric = byLabels.get(key)
  if (metric === undefined) {
    metric = Metric.withAttributes(requests, { endpoint, status: String(status) })
    byLabels.set(key, metric)
  }
  return Metric.update(metric, elapsedSeconds)
}

const hitRatio = ({ cachedPromptTokens, promptTokens }: EngineStatus): number =>
  cachedPromptTokens / Math.max(1, cachedPromptTokens + promptTokens)

type Kind = "gauge" | "counter"

const families: ReadonlyArray<
  readonly [name: string, kind: Kind, help: string, value: (status: EngineStatus) => number]
> = [
  ["running", "gauge", "Running completions", ({ running }) => running],
  ["waiting", "gauge", "Waiting completions", ({ waiting }) => waiting],
  ["tokens_per_second", "gauge", "Sampled tokens per second, recently", (status) => status.tokensPerSecond],
  ["generated_tokens_total", "counter", "Tokens sampled", ({ generatedTokens }) => generatedTokens],
  ["prompt_tokens_total", "counter", "Prompt tokens processed", ({ promptTokens }) => promptTokens],
  [
    "prompt_tokens_cached_total",
    "counter",
    "Prompt tokens found in the prefix cache",
    (status) => status.cachedPromptTokens
  ],
  ["prefix_hit_ratio", "gauge", "Share of prompt tokens found in the prefix cache", (status) => hitRatio(status)],
  ["guessed_tokens_total", "counter", "Speculated tokens", ({ guessedTokens }) => guessedTokens],
  ["guesses_accepted_total", "counter", "Speculated tokens that were accepted", (status) => status.acceptedGuesses],
  ["kv_bytes", "gauge", "KV cache memory in use", ({ kvBytes }) => kvBytes],
  ["kv_limit_bytes", "gauge", "KV cache memory limit", ({ kvLimitBytes }) => kvLimitBytes],
  ["prefix_bytes", "gauge", "Prefix cache memory in use", ({ prefixBytes }) => prefixBytes],
  ["version", "gauge", "Newest loaded policy version", ({ policies }) => newestOf(policies)],
  ["engine_restarts_total", "counter", "Restarts of the engine's thread", ({ restarts }) => restarts]
]

export const render = (status: EngineStatus): string =>
  families
    .map(([name, kind, help, value]) => {
      const whole = `atropos_policy_${name}`
      return `# HELP ${whole} ${help}\n# TYPE ${whole} ${kind}\n${whole} ${value(status)}\n`
    })
    .join("")

/** `GET /metrics`. */
export const metrics = ({ engine }: ServedPolicy) =>
  Effect.gen(function* () {
    const own = render(yield* engine.status)
    return HttpServerResponse.text(`${own}${yield* PrometheusMetrics.format()}`, {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })
