/**
 * Reads pictures: amounts on receipts, words on signs.
 *
 * An amount scores 1 or 0. The text of a sign scores 1 if exact, and less by edit distance, down to 0 at half of its
 * characters wrong, so that nearly right answers have a learning signal. Receipts, signs and pictures follow from the
 * seed.
 */
import { Environment, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import * as NumberAnswer from "../verify/Number.ts"
import * as Picture from "../kit/Picture.ts"
import * as PictureQuestion from "../kit/PictureQuestion.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as TextAnswer from "../verify/Text.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema } from "effect"
import * as TextItems from "./TextItems.ts"

const kinds = ["receipt-total", "receipt-item", "sign"] as const

export const settings = Environment.settings({
  ...SingleTurn.fields,
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(kinds)),
    ["receipt-total", "receipt-item", "sign"],
    "what to read: receipt-total, receipt-item, sign"
  ),
  evaluationItems: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 64, "held-out pictures per evaluation")
})

/** The only amount in an answer, `12.30` of `$ 12.30`; undefined if none or several. */
export const amountOf = (reply: string): string | undefined => {
  const answer = NumberAnswer.asciiSigns(reply)
  const [only, ...more] = answer.replaceAll(/(?<=\d),(?=\d{3}\b)/g, "").matchAll(/\d+(?:[.,]\d+)?/g)
  if (only === undefined || more.length > 0) return undefined
  const isNegative = /(?:^|[\s(:])-[$€£]?$/.test(answer.slice(0, answer.search(/\d/)).slice(-9))
  const amount = (isNegative ? -1 : 1) * Number(only[0].replace(",", "."))
  // 12.304 is not 12.30.
  return Number(amount.toFixed(2)) === amount ? amount.toFixed(2) : undefined
}

/** Scores a completion: whether it has an answer, and how close it is. */
export const judge = (
  { answer, kind }: Pick<TextItems.Written, "answer" | "kind">,
  completion: string
): { readonly format: number; readonly closeness: number } => {
  const reply = Thinking.taggedAnswer(completion)
  if (reply === undefined) return { format: 0, closeness: 0 }
  const closeness =
    kind === "sign" ? Math.max(0, 2 * TextAnswer.similarity(answer, reply) - 1) : amountOf(reply) === answer ? 1 : 0
  return { format: 1, closeness }
}

const tagged = (answer: string): string => `<answer>${answer}</answer>`

export const layer = Environment.layer("ocr", settings, (selected) =>
  Effect.map(ServerManager.ServerManager, (servers) => {
    const source = ItemSource.drawn({
      seed: selected.seed,
      evaluationItems: selected.evaluationItems,
      draw: (random) => TextItems.draw(random, selected.kinds),
      key: ({ question, svg }) => svg + question
    })
    const asking = PictureQuestion.make(servers, selected, ({ question, svg }: TextItems.Written) =>
      Effect.map(Picture.render(svg), (picture) => ({ picture, question }))
    )
    return {
      items: source.items,
      collectTrajectories: asking.train,
      score: (item: TextItems.Written, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => ({ rewards: judge(item, completion) }))),
      components: { weights: { format: 0, closeness: 1 } },
      evaluation: {
        items: source.heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (score: number) => score === 1
      },
      label: ({ answer, kind }: TextItems.Written) => `${kind}: ${answer}`,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answer, kind }: TextItems.Written) => [
          tagged(answer),
          `<think>Let me see.</think>${tagged(kind === "sign" ? answer.toLowerCase() : `$${answer}`)}`
        ],
        wrong: ({ answer, kind }: TextItems.Written) => [
          answer,
          tagged(kind === "sign" ? `${answer} and more` : `${answer} or 1.00`),
          tagged(kind === "sign" ? answer.slice(1) : (Number(answer) + 0.01).toFixed(2))
        ]
      }
    }
  })
)
