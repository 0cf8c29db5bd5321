/**
 * Rolls out each kind of item. Every group has its scores, as follow-up items derive from the same judgement.
 *
 * A right verdict on a wrong solution is scored by its usefulness: the problem is tried again with the verdict as a
 * hint, and the verdict's score is the share of right tries. Tries with mixed results become a separate item, already
 * scored.
 */
import { Environment, type ServerManager, TrainingProgress, type Trajectory } from "@atropos/core"
import * as MathAnswer from "../verify/math/MathAnswer.ts"
import type * as MathVerifier from "../verify/MathVerifier.ts"
import * as PairwiseJudge from "../kit/PairwiseJudge.ts"
import { Effect } from "effect"
import * as BasePrompt from "./BasePrompt.ts"
import * as Form from "./Form.ts"
import * as Items from "./Items.ts"
import { type Problem, problemOf } from "./Problem.ts"
import * as Scoring from "./Scoring.ts"

export interface Options extends Scoring.Rules {
  readonly groupSize: number
  readonly maxTokenLength: number
  /** Maximum tokens of an answer at the first step, if it grows. */
  readonly startTokenLength: number | null
  /** Prompt style: `base` is a text to be continued. */
  readonly promptStyle: "chat" | "base"
  /** Worked examples before a problem, for `base`. */
  readonly examples: number
  readonly temperature: number
  /** Verdicts per order when two right solutions are compared. */
  readonly votes: number
}

type Group = ReadonlyArray<Trajectory.Trajectory>

interface Rolled {
  readonly groups: ReadonlyArray<Environment.RolloutGroup>
  readonly requeue: ReadonlyArray<Items.Item>
}

type RollingError = ServerManager.InferenceError | MathVerifier.MathVerifierError | Environment.Unscorable

const noVerdict = { verdict: 0, helped: 0 }

/** The score of a verdict, and the item that follows from it. */
interface Outcome {
  readonly score: Scoring.Parts
  readonly mixed: ReadonlyArray<Items.Item>
}

const grader =
  (verifier: MathVerifier.MathVerifier["Service"], promptStyle: Options["promptStyle"]) =>
  ({ answer, form }: Problem, group: Group) =>
    Effect.forEach(
      group,
      (trajectory) => {
        const text = promptStyle === "base" ? BasePrompt.answerOf(trajectory) : trajectory.completion
        return Scoring.isCut(trajectory) || text === undefined || !Form.has(form, text)
          ? Effect.succeed(false)
          : verifier.grade(`\\boxed{${answer}}`, text, MathAnswer.boxedOptions)
      },
      { concurrency: "unbounded" }
    )

export const make = (
  servers: ServerManager.ServerManagerShape,
  verifier: MathVerifier.MathVerifier["Service"],
  options: Options
) => {
  const { examples, groupSize, maxTokenLength, promptStyle, startTokenLength, temperature } = options
  let tokenLength = startTokenLength ?? maxTokenLength
  const sampling = Effect.map(TrainingProgress.TrainingProgress, (progress) => {
    tokenLength = TrainingProgress.grown(progress, startTokenLength ?? maxTokenLength, maxTokenLength)
    return { n: groupSize, maxTokens: tokenLength, temperature, topP: 0.95 }
  })
  const ask = (messages: ServerManager.ChatRequest["messages"]) =>
    Effect.flatMap(sampling, (sampling) => servers.chat({ messages, ...sampling }))

  const grade = grader(verifier, promptStyle)
  const solve = (item: Items.Normal) =>
    promptStyle === "chat"
      ? ask(Items.solve(item))
      : Effect.flatMap(sampling, (sampling) => servers.complete(BasePrompt.request(item, examples, sampling)))

  const normal = Effect.fn("Math.normal")(function* (item: Items.Normal) {
    const trajectories = yield* solve(item)
    const isRight = yield* grade(item, trajectories)
    return {
      groups: [
        {
          trajectories,
          scores: Scoring.withForm(Scoring.scores(isRight, trajectories, options), trajectories, options)
        }
      ],
      requeue: Scoring.followUps(item, isRight, trajectories, options)
    }
  })

  /** The tries after one verdict: the share that is right, and their item if the results are mixed. */
  const tries = Effect.fn("Math.tries")(function* (item: Items.Judge, verdict: Trajectory.Trajectory) {
    const trajectories = yield* ask(Items.retry(item, Scoring.visibleText(verdict)))
    const isRight = yield* grade(item, trajectories)
    const rightOnes = isRight.filter(Boolean).length
    const scores = trajectories.map((trajectory, index) => Scoring.tryOf(isRight[index]!, trajectory, options))
    const mixed: Outcome["mixed"] =
      rightOnes > 0 && rightOnes < isRight.length
        ? [{ ...problemOf(item), kind: "selfcorrect", trajectories, scores }]
        : []
    return { score: { rewards: { verdict: 1, helped: rightOnes / isRight.length } }, mixed }
  })

  const judge = Effect.fn("Math.judge")(function* (item: Items.Judge) {
    const trajectories = yield* ask(Items.judge(item))
    const isRight = trajectories.map((trajectory) => Scoring.verdictOf(trajectory) === item.isRight)
    if (item.isRight)
      return {
        groups: [{ trajectories, scores: Scoring.scores(isRight, trajectories, options) }],
        requeue: []
      }
    const outcomes = yield* Effect.forEach(
      trajectories,
      (trajectory, index): Effect.Effect<Outcome, RollingError> =>
        isRight[index]
          ? tries(item, trajectory)
          : Effect.succeed({ score: Scoring.scoreOf(false, trajectory, options, noVerdict), mixed: [] }),
      { concurrency: 4 }
    )
    return {
      groups: [{ trajectories, scores: outcomes.map(({ score }) => score) }],
      requeue: outcomes.flatMap(({ mixed }) => mixed)
    }
  })

  // The policy itself is the judge here, as in the original.
  const preference = PairwiseJudge.make(
    { ask: servers.answer, metrics: Effect.succeed({}) },
    {
      criteria: "correct reasoning first, then clarity, then conciseness; both final answers are right",
      votes: options.votes,
      judgeTemperature: temperature,
      judgeMaxTokens: maxTokenLength
    }
  )

  const rlaif = Effect.fn("Math.rlaif")(function* ({ pair, problem }: Items.Rlaif) {
    const shares = yield* preference.shares(
      problem,
      pair.map((trajectory) => ({ ...trajectory, completion: Scoring.visibleText(trajectory) }))
    )
    const [first = 0.5] = shares
    if (first === 0.5)
      return yield* new Environment.Unscorable({ message: "neither of two right solutions is preferred" })
    const scores = (first > 0.5 ? [1, 0] : [0, 1]).map((preferred) => ({ rewards: { preferred } }))
    return { groups: [{ trajectories: pair, scores, groupOverrides: { group_size: pair.length } }], requeue: [] }
  })

  return {
    grade,
    rollOut: (item: Items.Item): Effect.Effect<Rolled, RollingError> => {
      switch (item.kind) {
        case "normal":
          return normal(item)
        case "judge":
          return judge(item)
        case "rlaif":
          return rlaif(item)
        case "selfcorrect":
          return Effect.succeed({ groups: [{ trajectories: item.trajectories, scores: item.scores }], requeue: [] })
      }
    },
    metrics:
      startTokenLength === null
        ? preference.metrics
        : Effect.map(preference.metrics, (figures) => ({ ...figures, "math/token_length": tokenLength }))
  }
}
