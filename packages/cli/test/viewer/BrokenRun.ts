/**
 * A run in which four things go wrong at known moments, written into a service as a trainer and three environments
 * would: the reward collapses, loss or gradient is not a number at three steps, answers of one environment earn a
 * component by their length, another environment is stuck.
 */
import { type ScoredGroup, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"

export const name = "broken"
export const steps = 60
/** The first step with a low reward. */
export const collapsesAt = 41
export const notFinite: ReadonlyArray<number> = [12, 23, 31]
/** Each of the five mazes is tried once before it is solved. */
export const firstTries = 5
/** From here on all scores of the maze are alike. */
export const stuckFrom = 15

const groupSize = 4

/** Small, and never the same twice in a row. */
const noise = (step: number): number => 0.02 * Math.sin(step * 2.4)

const rewardAt = (step: number): number => (step < collapsesAt ? 0.3 + step / 100 : 0.08) + noise(step)

const wordsAt = (step: number): number => 20 + 2 * step

interface Answer {
  readonly text: string
  readonly score: number
  readonly rewards: { readonly [component: string]: number }
  /** Of each token. */
  readonly logprob?: number
}

const words = (text: string): ReadonlyArray<string> => text.split(" ")

/** Each word is a token; the question's are not trained on. */
const groupOf = (question: string, step: number, answers: ReadonlyArray<Answer>): ScoredGroup.ScoredGroup => {
  const prompt = words(question)
  const whole = answers.map(({ text }) => [...prompt, ...words(text)])
  return {
    tokens: whole.map((sequence) => Int32Array.from(sequence, (word) => 1 + (word.length % 50))),
    masks: whole.map((sequence) => Uint8Array.from(sequence, (_, at) => (at < prompt.length ? 0 : 1))),
    scores: Float64Array.from(answers, ({ score }) => score),
    inferenceLogprobs: whole.map((sequence, row) =>
      Float32Array.from(sequence, (_, at) =>
        at < prompt.length ? Number.NaN : (answers[row]!.logprob ?? -0.4 - 0.1 * (at % 5))
      )
    ),
    messages: answers.map(({ text }) => [
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: text }
    ]),
    overrides: answers.map(() => ({ finish_reason: "stop" })),
    rewards: answers.map(({ rewards }) => rewards),
    policyVersions: answers.map(() => step - 1)
  }
}

/** Until the collapse some are right; after it the answer is a row of marks. */
const sums = (step: number): ScoredGroup.ScoredGroup => {
  const isBroken = step >= collapsesAt
  const sum = step + 7
  return groupOf(
    `What is ${step} + 7 ?`,
    step,
    Array.from({ length: groupSize }, (_, row) => {
      const isRight = !isBroken && row <= step / 15
      const text = isBroken ? "!!!! ".repeat(12).trim() : `The answer is ${isRight ? sum : sum + row} .`
      const isGuilty = notFinite.includes(step) && row === 3
      const rewards = { correct: isRight ? 1 : 0, format: isBroken ? 0 : 0.1 }
      return { text, rewards, score: rewards.correct + rewards.format, ...(isGuilty && { logprob: -88 }) }
    })
  )
}

/** Longer and longer, no better, and paid for it. */
const essays = (step: number): ScoredGroup.ScoredGroup =>
  groupOf(
    `Write about the number ${step} .`,
    step,
    Array.from({ length: groupSize }, (_, row) => {
      const length = wordsAt(step) + 6 * row
      const rewards = { quality: 0.5 + noise(step + row), thorough: length / 150 }
      const text = `A thorough essay : ${"moreover it is so ".repeat(length / 4).trim()} .`
      return { text, rewards, score: rewards.quality + rewards.thorough }
    })
  )

const mazes = (step: number): ScoredGroup.ScoredGroup =>
  groupOf(
    `Leave the maze number ${step % firstTries} .`,
    step,
    Array.from({ length: groupSize }, (_, row) => {
      const score = step > firstTries && step < stuckFrom && row === step % groupSize ? 1 : 0
      return { text: score === 1 ? "left , right , out" : "left left left left", score, rewards: { out: score } }
    })
  )

const environments = [
  { desiredName: "sums", of: sums },
  { desiredName: "essays", of: essays },
  { desiredName: "maze", of: mazes }
] as const

const meanOf = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const figuresOf = ({ masks, rewards = [], scores }: ScoredGroup.ScoredGroup) => ({
  "train/scores_mean": meanOf([...scores]),
  "train/percent_identical": new Set(scores).size === 1 ? 1 : 0,
  "train/items_sent_to_api": 1,
  "train/completion_lengths": meanOf(masks.map((mask) => mask.reduce((sum, one) => sum + one, 0))),
  "train/truncated_fraction": 0,
  ...Object.fromEntries(
    Object.keys(rewards[0] ?? {}).map((component) => [
      `reward/${component}`,
      meanOf(rewards.map((one) => one[component]!))
    ])
  )
})

const trainerFigures = (step: number) => {
  const isOdd = notFinite.includes(step)
  return {
    "reward/mean": rewardAt(step),
    "reward/std": 0.3,
    "train/loss": isOdd ? Number.NaN : 0.1 + noise(step),
    "train/grad_norm": isOdd ? Number.NaN : 1 + 5 * noise(step),
    "train/skipped": isOdd ? 1 : 0,
    "train/skipped_not_finite": isOdd ? 1 : 0,
    "grpo/entropy": 0.6,
    "grpo/kl": step / 5000,
    "batch/groups": 3,
    "train/step_time": 2,
    "train/data_fetch_time": 1.2,
    "train/compute_time": 0.6
  }
}

/** The step at which the sums were evaluated. */
export const evaluatedAt = 40

/** Evaluations of the sums: two items, one of them solved. */
export const evaluation = (step: number) => ({
  key: randomUUID(),
  name: "sums",
  model: "policy",
  step,
  seconds: 1,
  figures: { "eval/percent_correct": 0.5, "eval/items": 2 },
  samples: [1, 0].map((score, item) => ({
    item,
    label: `What is ${item} + 7 ?`,
    score,
    correct: score === 1,
    messages: [
      { role: "user", content: `What is ${item} + 7 ?` },
      { role: "assistant", content: `The answer is ${item + 7 * score} .` }
    ]
  }))
})

/** Sends all of it, trained on to the last step. */
export const fill = (url: string) =>
  Effect.gen(function* () {
    const client = yield* TrajectoryClient.all
    const { recordEvaluation, recordMetrics } = Option.getOrThrow(yield* client.telemetry)
    yield* client.registerRun({
      name,
      batchSize: groupSize * environments.length,
      maxTokenLength: 512,
      startingStep: 0,
      numSteps: steps,
      checkpointDir: "",
      saveCheckpointInterval: 0,
      wandbGroup: "",
      wandbProject: ""
    })
    const take = client.claim({ owner: "test", wait: 0, lease: "10 minutes" })
    yield* take
    const registered = yield* Effect.forEach(environments, ({ desiredName, of }) =>
      client
        .registerEnvironment({
          desiredName,
          weight: 1,
          groupSize,
          maxTokenLength: 512,
          minBatchAllocation: null
        })
        .pipe(Effect.map((own) => ({ ...Option.getOrThrow(own), of })))
    )
    for (let step = 1; step <= steps; step++) {
      for (const { envId, name, of } of registered) {
        const group = of(step)
        yield* client.submit(envId, [{ key: randomUUID(), group }])
        yield* recordMetrics({ source: name, step, values: figuresOf(group) })
      }
      const batch = yield* take
      yield* client.ack(Option.getOrThrow(batch))
      yield* recordMetrics({ source: "trainer", step, values: trainerFigures(step) })
    }
    for (const step of [0, evaluatedAt]) {
      const one = evaluation(step)
      yield* recordEvaluation(one)
      yield* recordMetrics({ source: registered[0].name, step, values: one.figures })
    }
  }).pipe(Effect.provide(TrajectoryClientHttp.layer({ url, run: name })))
