/**
 * Fills a service with a run to view: groups of 8 with chats, most of them trained on, metrics of every step, reports,
 * pieces.
 */
import { type ScoredGroup, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import * as Rollouts from "./Rollouts.ts"

export interface Options {
  readonly url: string
  readonly run: string
  readonly groups: number
  readonly words: number
  readonly token?: string
}

const groupsAtOnce = 32
const batchSize = 64

const metricsOf = (step: number, next: () => number) => {
  const learned = 1 - Math.exp(-step / 400)
  return {
    "train/loss": 0.4 * (1 - learned) + next() * 0.05,
    "train/grad_norm": 0.5 + next(),
    "train/lr": 1e-5,
    "train/policy_version": step,
    "train/step_time": 2 + next(),
    "train/tokens_per_second": 4000 + next() * 500,
    "reward/mean": 0.2 + 0.6 * learned + next() * 0.1,
    "reward/std": 0.3 + next() * 0.1,
    "grpo/kl": learned * 0.02 + next() * 0.002,
    "grpo/clipped_fraction": next() * 0.1,
    "batch/truncated_fraction": next() * 0.05,
    "batch/truncated_masked_fraction": 0,
    "staleness/mean": next() * 2
  }
}

const tries = 4

/**
 * Group number `at`: items are tried several times, a third of them without success at first; scores have two
 * components.
 */
const tried = (at: number, groups: number, words: number): ScoredGroup.ScoredGroup => {
  const group = Rollouts.group({ sequences: 8, words }, at)
  const items = Math.ceil(groups / tries)
  const scores = at < items && at % 3 === 0 ? new Float64Array(group.scores.length) : group.scores
  return {
    ...group,
    scores,
    itemId: `item-${at % items}`,
    rewards: Array.from(scores, (score, row) => ({ correct: score, format: ((at + row) % 10) / 10 }))
  }
}

/** Submits the groups, oldest first, and trains on all full batches except the last few. */
export const fill = ({ groups, run, token, url, words }: Options) =>
  Effect.gen(function* () {
    const client = yield* TrajectoryClient.all
    const { recordMetrics, recordPieces, recordReport } = Option.getOrThrow(yield* client.telemetry)
    yield* client.registerRun({
      name: run,
      batchSize,
      maxTokenLength: 4096,
      startingStep: 0,
      numSteps: Math.ceil(groups / 8),
      checkpointDir: "",
      saveCheckpointInterval: 0,
      wandbGroup: "",
      wandbProject: ""
    })
    const take = client.claim({ owner: "bench", wait: 0, lease: "10 minutes" })
    yield* take
    const environments = yield* Effect.forEach(["arithmetic", "stories"], (desiredName) =>
      client
        .registerEnvironment({ desiredName, weight: 1, groupSize: 8, maxTokenLength: 4096, minBatchAllocation: null })
        .pipe(Effect.map(Option.getOrThrow))
    )
    const pieces = Rollouts.vocabulary.map((word, id) => [id, ` ${word}`] as const)
    for (let from = 0; from < pieces.length; from += 4096) {
      yield* recordPieces(new Map(pieces.slice(from, from + 4096)))
    }
    const next = Rollouts.generator(0)
    let step = 0
    for (let from = 0; from < groups; from += groupsAtOnce) {
      const { envId, name } = environments[(from / groupsAtOnce) % 2]!
      yield* client.submit(
        envId,
        Array.from({ length: Math.min(groupsAtOnce, groups - from) }, (_, i) => ({
          key: randomUUID(),
          group: tried(from + i, groups, words)
        }))
      )
      yield* recordReport(envId, {
        running: 8,
        unsent: 0,
        itemsPerMinute: 60 + next() * 10,
        failures: Math.floor(from / 1000),
        lastError: null,
        servers: [
          {
            server: "http://127.0.0.1:9004",
            split: "train",
            healthy: true,
            inFlight: 8,
            latencyMean: 1.2,
            latencyP95: 2.5,
            tokensPerSecond: 900,
            failures: 0
          }
        ]
      })
      // The last ones stay in the queue.
      if (from + 2 * groupsAtOnce >= groups) continue
      for (;;) {
        const batch = yield* take
        if (Option.isNone(batch)) break
        yield* client.ack(batch.value)
        step++
        yield* recordMetrics({ source: "trainer", step, values: metricsOf(step, next) })
        if (step % 4 === 0) {
          yield* recordMetrics({
            source: name,
            step,
            values: { "train/scores_mean": 0.2 + next() * 0.2, "train/completion_lengths": words + next() * 20 }
          })
        }
      }
    }
  }).pipe(Effect.provide(TrajectoryClientHttp.layer({ url, run, ...(token !== undefined && { token }) })))
