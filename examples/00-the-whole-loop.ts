/**
 * The whole loop of reinforcement learning on one page: GRPO (DeepSeekMath, arXiv 2402.03300) on a small model with
 * random weights, in seconds on a CPU, from the trainer's own parts.
 *
 *     prompts → groups of completions → rewards → advantages → training sequences → loss → gradient → new weights → …
 *
 * The task: given a letter, write the three that follow it. Omitted here, but part of `ClosedLoop`: environments that
 * run for minutes, the service that queues their groups, checkpoints, stale samples, a KL penalty. Run it: `npx node
 * --conditions=atropos-src examples/00-the-whole-loop.ts`.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import {
  Engine,
  LearnerEngine,
  LocalLearner,
  OrtWorker,
  PolicyLayers,
  Objective,
  TinyModel,
  type TrainingSequence,
  WeightedBatch
} from "@atropos/trainer"
import { Console, Effect, Layer, References } from "effect"

const letters = "abcdefghijklmnop"
const after = (prompt: string) => [1, 2, 3].map((i) => letters[(letters.indexOf(prompt) + i) % letters.length]!)

const groupSize = 16
const steps = 50
const learningRate = 4e-3
/** Updates per batch of samples: in the second one the ratios are no longer 1. */
const updates = 2

/** A reward is a plain function of a completion: here the share of right letters. */
const reward = (prompt: string, completion: string): number =>
  after(prompt).filter((letter, i) => letter === completion[i]).length / 3

/** A model is a function with parameters: tokens in, the probability of every next token out. */
const model = TinyModel.make({ characters: letters, seed: 1, maxPositions: 16 })
const { tokenizer } = model

/**
 * How much better each completion is than the others of its group. No value model is needed: the mean of the group is
 * the baseline. That is the "group relative" in GRPO.
 */
const advantagesOf = (rewards_G: ReadonlyArray<number>): ReadonlyArray<number> => {
  const mean = rewards_G.reduce((sum, reward) => sum + reward, 0) / rewards_G.length
  const variance = rewards_G.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards_G.length
  return rewards_G.map((reward) => (reward - mean) / (Math.sqrt(variance) + 1e-4))
}

/**
 * The loss of each token. The ratio is the token's probability under the current weights divided by that under the
 * weights that sampled it: 1 in the first update with a sample, where the gradient is that of -A log π, so that tokens
 * of good completions become more likely and those of bad ones less. The clip stops this once the ratio has moved by
 * 20%.
 */
const grpo = Objective.make({
  name: "grpo",
  tokenLoss: (graph, { advantages, logprobs, oldLogprobs }) => {
    const ratio = graph.exp(graph.sub(logprobs, oldLogprobs))
    const clipped = graph.clip(ratio, 0.8, 1.2)
    return graph.neg(graph.min(graph.mul(ratio, advantages), graph.mul(clipped, advantages)))
  }
})

/** Samples a group: one prompt, several completions, with the training data of each. */
const sampleGroup = Effect.fnUntraced(function* (prompt: string, group: number, policyVersion: number) {
  const engine = yield* Engine.Engine
  const promptTokens = tokenizer.encode(prompt)
  const completions = yield* engine.generate({
    promptTokens,
    n: groupSize,
    maxTokens: 3,
    stopTokenIds: [],
    temperature: 1,
    topP: 1,
    topK: 0,
    seed: policyVersion * letters.length + group
  })
  const rewards = completions.map(({ tokens }) => reward(prompt, tokenizer.decode([...tokens])))
  const advantages = advantagesOf(rewards)
  return completions.map((completion, i): TrainingSequence.TrainingSequence => {
    /** One number for each token of prompt and completion. */
    const perToken = (ofPrompt: number, ofCompletion: (t: number) => number) =>
      Array.from([...promptTokens, ...completion.tokens], (_, t) =>
        t < promptTokens.length ? ofPrompt : ofCompletion(t - promptTokens.length)
      )
    return {
      tokens: Int32Array.of(...promptTokens, ...completion.tokens),
      // Only the completion is trained, not the prompt.
      mask: Uint8Array.from(perToken(0, () => 1)),
      advantages: Float32Array.from(perToken(0, () => advantages[i]!)),
      // log π of each sampled token under the weights that sampled it: the denominator of the ratio.
      engineLogprobs: Float32Array.from(perToken(1, (t) => completion.logprobs[t]!)),
      temperature: 1,
      score: rewards[i]!,
      policyVersion,
      group
    }
  })
})

export const program = Effect.gen(function* () {
  const learner = yield* (yield* LearnerEngine.LearnerEngine).load({ objective: grpo })
  for (let step = 1; step <= steps; step++) {
    // Sample and score: a group for each letter.
    const groups = yield* Effect.forEach(letters, (prompt, group) => sampleGroup(prompt, group, step - 1), {
      concurrency: "unbounded"
    })
    const sequences = groups.flat()
    // Weights of the tokens: the mean over each sequence, then over sequences.
    const { maxPositions: maxLength, vocabSize } = model.config
    const { batch } = WeightedBatch.choose(sequences, grpo, { maxLength, vocabSize })
    for (let update = 0; update < updates; update++) {
      yield* learner.forwardBackward(batch) // the loss and its gradient: forward and backward through the model
      yield* learner.optimizerStep(learningRate) // AdamW: a step of the parameters against the gradient
    }
    // The next groups are sampled from the new weights.
    yield* learner.publish(step)
    const mean = sequences.reduce((sum, { score }) => sum + score, 0) / sequences.length
    if (step === 1 || step % 10 === 0) yield* Console.log(`step ${step}: reward ${mean.toFixed(2)}`)
  }
}).pipe(
  Effect.scoped,
  Effect.provide(
    LocalLearner.layerInProcess({ model }).pipe(
      Layer.provideMerge(PolicyLayers.layerEngine(model, { device: "cpu" })),
      Layer.provide([OrtWorker.layer({ threads: 1 }), NodeServices.layer])
    )
  ),
  Effect.provideService(References.MinimumLogLevel, "Warn")
)

if (import.meta.main) await Effect.runPromise(program)
