/**
 * Asks questions about pictures from a data set: any parquet (or other) set with columns for picture, question and
 * answer.
 *
 * The picture column holds bytes, as the `datasets` library writes them (`{ bytes, path }`), base64 or a data URL. A
 * picture that is too large, of an unsupported format or broken is skipped, reporting its question and the reason. The
 * answer column holds a text, or a list of alternative right texts. Score 1 for the answer, else 0.
 */
import { Columns, Environment, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import * as Picture from "../kit/Picture.ts"
import * as PictureQuestion from "../kit/PictureQuestion.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as TextAnswer from "../verify/Text.ts"
import { Effect, Result, Schema, Stream } from "effect"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const column = (name: string, what: string) => Environment.field(Schema.NonEmptyString, name, `column of the ${what}`)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "flaviagiammarino/vqa-rad/train",
    "rows: a data set on the hub, or a file"
  ),
  testSource: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "evaluation rows; if unset, a tenth of source is held out"
  ),
  imageColumn: column("image", "picture"),
  questionColumn: column("question", "question"),
  answerColumn: column("answer", "answer, or a list of answers"),
  maxImageBytes: Environment.field(positive, Picture.defaultLimits.maxBytes, "maximum size of a picture, in bytes"),
  maxImagePixels: Environment.field(positive, Picture.defaultLimits.maxPixels, "maximum number of pixels in a picture")
})

export interface Item {
  readonly image: Uint8Array
  readonly question: string
  readonly answers: ReadonlyArray<string>
}

const answers: Columns.Kind<ReadonlyArray<string>> = {
  expected: "a text or a list of texts",
  read: (value) => {
    const one = Columns.text.read(value)
    return one === undefined ? Columns.texts.read(value) : [one]
  }
}

const judge = ({ answers }: Item, completion: string) =>
  PictureQuestion.judge(completion, (reply) => answers.some((answer) => TextAnswer.equivalent(answer, reply)))

const tagged = (answer: string): string => `<answer>${answer}</answer>`

export const layer = Environment.layer("vqa-dataset", settings, (selected) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const limits = { maxBytes: selected.maxImageBytes, maxPixels: selected.maxImagePixels }
    const columns = {
      image: { setting: "image_column", column: selected.imageColumn, kind: Columns.bytes },
      question: { setting: "question_column", column: selected.questionColumn, kind: Columns.text },
      answers: { setting: "answer_column", column: selected.answerColumn, kind: answers }
    } as const
    const source = yield* ItemSource.shuffledRowsAs({ ...selected, columns }, (row) => Result.succeed<Item>(row))
    const asking = PictureQuestion.make(servers, selected, ({ image, question }: Item) =>
      Effect.map(Picture.check(question, image, limits), (picture) => ({ picture, question }))
    )
    return {
      items: source.items,
      collectTrajectories: (item: Item) =>
        Effect.mapError(asking.train(item), (error) =>
          error._tag === "PictureRefused" ? new Environment.Unscorable({ message: error.message }) : error
        ),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => ({ rewards: judge(item, completion) }))),
      components: PictureQuestion.rule,
      evaluation: {
        items: source.heldOut.pipe(
          Stream.filterEffect(({ image, question }) =>
            Picture.check(question, image, limits).pipe(
              Effect.as(true),
              Effect.catch(({ message }) => Effect.as(Effect.logWarning("row skipped", { reason: message }), false))
            )
          )
        ),
        collectTrajectories: asking.evaluate
      },
      label: ({ question }: Item) => question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answers }: Item) => answers.map(tagged),
        wrong: ({ answers, question }: Item) => [answers[0]!, tagged(`${answers[0]!} ${question}`), tagged("")]
      }
    }
  })
)
