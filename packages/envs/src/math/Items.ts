/**
 * Defines the kinds of items about a problem, with their prompts: solve it, judge a solution, send corrected attempts,
 * compare two right solutions.
 *
 * Text by a model is enclosed in marks that depend on it, so that it cannot fake its own end.
 */
import { Message, SavedTrajectory, SeededRandom, type Environment, type Trajectory } from "@atropos/core"
import { Schema } from "effect"
import type { Problem } from "./Problem.ts"

export interface Normal extends Problem {
  readonly kind: "normal"
}

/** A solution whose verdict is known. */
export interface Judge extends Problem {
  readonly kind: "judge"
  readonly solution: string
  readonly isRight: boolean
}

/** Attempts after a verdict, sampled and scored already. */
export interface SelfCorrect extends Problem {
  readonly kind: "selfcorrect"
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
  readonly scores: ReadonlyArray<Environment.Score>
}

/** Two right solutions that differ. */
export interface Rlaif extends Problem {
  readonly kind: "rlaif"
  readonly pair: readonly [Trajectory.Trajectory, Trajectory.Trajectory]
}

export type Item = Normal | Judge | SelfCorrect | Rlaif

const problemFields = {
  problem: Schema.String,
  answer: Schema.String,
  form: Schema.optionalKey(Schema.Literals(["number", "expanded", "radical"]))
}

const { SavedTrajectory: Attempt } = SavedTrajectory

const overrides = Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))

/** Scores of attempts at these items: components, or numbers in runs from before components existed. */
const Score = Schema.Union([
  Schema.Finite,
  Schema.Struct({ rewards: Schema.Record(Schema.String, Schema.Finite), overrides }),
  Schema.Struct({ score: Schema.Finite, overrides })
])

/** Lets requeued items survive a restart. */
export const codec: Schema.Codec<Item, unknown> = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("normal"), ...problemFields }),
  Schema.Struct({ kind: Schema.Literal("judge"), ...problemFields, solution: Schema.String, isRight: Schema.Boolean }),
  Schema.Struct({
    kind: Schema.Literal("selfcorrect"),
    ...problemFields,
    trajectories: Schema.Array(Attempt),
    scores: Schema.Array(Score)
  }),
  Schema.Struct({ kind: Schema.Literal("rlaif"), ...problemFields, pair: Schema.Tuple([Attempt, Attempt]) })
])

export const label = ({ kind, problem }: Item): string => (kind === "normal" ? problem : `${kind}: ${problem}`)

const instructions = Message.system(
  "You reason carefully. Put your reasoning between <think> and </think>, as long as it needs to be, then write for the reader."
)

const marked = (name: string, text: string): string => {
  const mark = SeededRandom.hashOf(`${name}\n${text}`).toString(36)
  return `--- ${name} ${mark} ---\n${text}\n--- end of ${name} ${mark} ---`
}

export const solve = ({ problem }: Problem): ReadonlyArray<Message.Message> => [
  instructions,
  Message.user(
    `${problem}\n\nEnd with the final answer as \\boxed{answer}. The last box counts. An answer that is not boxed gets no credit.`
  )
]

export const judge = ({ problem, solution }: Judge): ReadonlyArray<Message.Message> => [
  instructions,
  Message.user(
    `Is this solution right? Check it step by step, and say how the problem is solved correctly.

${marked("problem", problem)}

${marked("solution", solution)}

End with \\boxed{True} if the solution's final answer is right, and with \\boxed{False} if it is wrong. The last box counts.`
  )
]

export const retry = ({ problem, solution }: Judge, verdict: string): ReadonlyArray<Message.Message> => [
  instructions,
  Message.user(
    `A solution of a problem was checked. Use the check to solve the problem correctly.

${marked("problem", problem)}

${marked("solution", solution)}

${marked("check", verdict)}

End with the final answer as \\boxed{answer}. The last box counts. An answer that is not boxed gets no credit.`
  )
]
