/**
 * Predicts from a report whether a company metric will be maintained, raised or reduced, and by how much.
 *
 * The last line of an answer is `The revenue guidance will be: raised and the magnitude will be: 5%`. Score -1 for a
 * wrong direction or another format; for the right one 0.5 plus up to 0.5 for the magnitude: all of it if exact, 0.9,
 * 0.7, 0.5, 0.3 of it within 1, 5, 10 and 20 points, none beyond. Reports are generated, or rows in the shape of
 * NousResearch/company-fundamentals-prediction-lite. Behaviour: fundamental_prediction_environment.py of the original,
 * which discarded the magnitude's grade.
 */
import {
  Columns,
  Dataset,
  Environment,
  Message,
  type RewardComponents,
  ServerManager,
  type Trajectory
} from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as NumberAnswer from "./verify/Number.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Result, Schema } from "effect"
import * as Prediction from "./markets/Prediction.ts"
import * as Statements from "./markets/Statements.ts"

const column = (name: string, what: string) => Environment.field(Schema.NonEmptyString, name, `column of the ${what}`)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "generated",
    'rows: a data set on the hub, or a file; "generated" for synthetic company reports'
  ),
  contextColumn: column("context", "report"),
  metricColumn: column("fundamental_metric", "name of the figure"),
  answerColumn: column("answer", "direction: maintained, raised or reduced"),
  magnitudeColumn: column("magnitude", "change, in percent"),
  evaluationItems: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    64,
    "held-out generated reports per evaluation"
  )
})

const percentOf = (text: string): number => Math.abs(Number(NumberAnswer.asciiSigns(text).replace("%", "").trim()))

const text = (setting: string, column: string) => ({ setting, column, kind: Columns.text })

/** Converts a row to a report; fails with what is wrong with it. */
const reportOf = (row: {
  readonly context: string
  readonly metric: string
  readonly answer: string
  readonly magnitude: string
}): Result.Result<Statements.Report, string> => {
  const direction = Statements.directions.find((one) => one === row.answer.trim().toLowerCase())
  const magnitude = percentOf(row.magnitude)
  if (direction === undefined) return Result.fail(`the answer is ${row.answer}, not maintained, raised or reduced`)
  if (!Number.isFinite(magnitude)) return Result.fail(`the magnitude ${row.magnitude} is not a percentage`)
  return Result.succeed({ context: row.context, metric: row.metric, direction, magnitude })
}

const sentenceOf = (metric: string, direction: string, magnitude: number): string =>
  `The ${metric} will be: ${direction} and the magnitude will be: ${magnitude}%`

export const layer = Environment.layer("fundamentals", settings, (selected) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const dataset = yield* Dataset.Dataset
    const columns = {
      context: text("context_column", selected.contextColumn),
      metric: text("metric_column", selected.metricColumn),
      answer: text("answer_column", selected.answerColumn),
      magnitude: text("magnitude_column", selected.magnitudeColumn)
    } as const
    const source =
      selected.source === "generated"
        ? ItemSource.drawn({ ...selected, draw: Statements.draw, key: ({ context }) => context })
        : yield* ItemSource.shuffledRowsAs({ ...selected, testSource: null, columns }, reportOf).pipe(
            Effect.provideService(Dataset.Dataset, dataset)
          )
    const asking = SingleTurn.make(servers, selected, ({ context, metric }: Statements.Report) => ({
      messages: [Message.system(instructions), Message.user(question(context, metric))]
    }))
    return {
      items: source.items,
      collectTrajectories: asking.train,
      score: (report: Statements.Report, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => ({ rewards: Prediction.judge(report, completion) }))),
      components: Prediction.rule,
      evaluation: {
        items: source.heldOut,
        collectTrajectories: asking.evaluate,
        // The direction is right; the magnitude sets how far the score is above 0.
        isCorrect: (_: number, rewards?: RewardComponents.Rewards) => rewards?.["direction"] === 1
      },
      label: ({ direction, magnitude, metric }: Statements.Report) => `${metric} ${direction} by ${magnitude}%`,
      claims: {
        scoreRange: [-1, 1] as const,
        gold: ({ direction, magnitude, metric }: Statements.Report) => [
          sentenceOf(metric, direction, magnitude),
          `<think>${sentenceOf(metric, "raised", 99)}</think>So:\n${sentenceOf(metric, direction, magnitude)}.`
        ],
        wrong: ({ direction, magnitude, metric }: Statements.Report) => [
          direction,
          sentenceOf(metric, direction === "raised" ? "reduced" : "raised", magnitude),
          sentenceOf(metric, direction, magnitude + 2),
          Statements.directions.map((one) => sentenceOf(metric, one, magnitude)).join("\n")
        ]
      }
    }
  })
)

const instructions = `You analyse reports on companies. Think between <think> and </think> where it helps, then predict. Your answer ends with one
sentence of exactly the form that is asked for.`

const question = (context: string, metric: string): string => `${context}

Will the ${metric} be maintained, raised or reduced in the next quarter, and by how many percent? End with this sentence:
"The ${metric} will be: <maintained, raised or reduced> and the magnitude will be: <number>%"`
