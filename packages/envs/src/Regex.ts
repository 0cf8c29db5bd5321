/**
 * Asks for a regular expression that accepts some texts and rejects others, from a description and examples.
 *
 * The answer is in `<answer>`: a JavaScript expression (flag `u`) that must match whole texts. Score 1 if all hidden
 * and shown texts are classified correctly; with `scoring: share` the share. Components: `valid`, `accepted` and
 * `rejected` (the shares of texts on each side), `correct`. Expressions run in a thread with a deadline; a timeout
 * counts as invalid. Tasks are generated, or rows with texts to accept and to reject, some of which are hidden.
 * Behaviour: regex_generation of the original, whose policy was shown all texts, and could hang the matcher.
 */
import { Columns, Environment, Message, SeededRandom, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Result, Schema } from "effect"
import * as Languages from "./regex/Languages.ts"
import * as RegexVerifier from "./regex/RegexVerifier.ts"

const column = (name: string, what: string) => Environment.field(Schema.NonEmptyString, name, `column with ${what}`)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("rows.jsonl"),
  scoring: Environment.field(
    Schema.Literals(["all", "share"]),
    "all",
    "all: 1 if every text is classified correctly, else 0; share: the share of texts, both sides weighted equally"
  ),
  shown: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })),
    4,
    "texts of each side that the prompt shows; of rows at most half"
  ),
  heldBack: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 })),
    16,
    "hidden texts of each side of a generated task, which also count"
  ),
  descriptionField: column("description", "what the texts have in common"),
  acceptField: column("accept", "the texts to accept, a list"),
  rejectField: column("reject", "the texts to reject, a list")
})

interface Sides {
  readonly accepted: ReadonlyArray<string>
  readonly rejected: ReadonlyArray<string>
}

interface Item extends Sides {
  readonly description: string
  /** Number of texts shown per side: the first ones. */
  readonly shown: number
  /** Only of generated tasks. */
  readonly pattern?: string
}

const max = 1_000
const longest = 10_000

const promptOf = ({ accepted, description, rejected, shown }: Item): string => {
  const listed = (texts: ReadonlyArray<string>) =>
    texts
      .slice(0, shown)
      .map((text) => `- ${JSON.stringify(text)}`)
      .join("\n")
  return [
    `Write a regular expression for JavaScript (flag u) that matches a text, as a whole, exactly if the text ${description}.`,
    ...(shown === 0 ? [] : [`It must match:\n${listed(accepted)}`, `It must not match:\n${listed(rejected)}`]),
    "Further texts decide. Give the expression alone, without slashes or quotes: <answer>expression</answer>"
  ].join("\n\n")
}

/** The expression of an answer, without surrounding slashes or code marks. */
const patternOf = (completion: string): string | undefined => {
  const reply = Thinking.taggedAnswer(completion)
  if (reply === undefined || reply === "") return undefined
  const bare = reply.length > 1 && reply.startsWith("`") && reply.endsWith("`") ? reply.slice(1, -1) : reply
  return bare.length > 2 && bare.startsWith("/") && /\/u?$/.test(bare) ? bare.slice(1, bare.lastIndexOf("/")) : bare
}

const tagged = (pattern: string): string => `<answer>${pattern}</answer>`

export const layer = Environment.layer("regex", settings, (selected) =>
  Effect.gen(function* () {
    const { acceptField, descriptionField, heldBack, rejectField, scoring, shown, source } = selected
    const servers = yield* ServerManager.ServerManager
    const attempt = yield* RegexVerifier.make()
    const draw = (random: SeededRandom.SeededRandom): Item => {
      const language = Languages.draw(random)
      const sides = Languages.texts(language, random, shown + heldBack)
      const few = Math.min(sides.accepted.length, sides.rejected.length)
      return { ...language, ...sides, shown: Math.min(shown, Math.floor(few / 2)) }
    }
    const columns = {
      description: { setting: "description_field", column: descriptionField, kind: Columns.text },
      accepted: { setting: "accept_field", column: acceptField, kind: Columns.texts },
      rejected: { setting: "reject_field", column: rejectField, kind: Columns.texts }
    }
    const { heldOut, items } =
      source === ItemSource.generated
        ? ItemSource.drawn({ ...selected, draw, key: promptOf })
        : yield* ItemSource.shuffledRowsAs({ ...selected, columns }, ({ accepted, description, rejected }) => {
            const few = Math.min(accepted.length, rejected.length)
            const all = [...accepted, ...rejected]
            if (all.length > max || all.some((text) => text.length > longest)) {
              return Result.fail(`it has more than ${max} texts, or a text longer than ${longest} characters`)
            }
            const twice = accepted.find((text) => rejected.includes(text))
            if (twice !== undefined) return Result.fail(`${JSON.stringify(twice)} is both to accept and to reject`)
            return Result.succeed<Item>({
              description,
              accepted,
              rejected,
              shown: Math.min(shown, Math.floor(few / 2))
            })
          })
    const asking = SingleTurn.make(servers, selected, (item: Item) => ({ messages: [Message.user(promptOf(item))] }))
    const nothing = { valid: 0, accepted: 0, rejected: 0, told_apart: 0, correct: 0 }

    const counted = scoring === "share" ? "told_apart" : "correct"
    const judged = Effect.fnUntraced(function* ({ accepted, rejected }: Item, trajectory: Trajectory.Trajectory) {
      const pattern = trajectory.finishReason === "length" ? undefined : patternOf(trajectory.completion)
      if (pattern === undefined) return nothing
      const verdict = yield* attempt(pattern, [...accepted, ...rejected])
      if (verdict._tag === "invalid") return nothing
      const right = verdict.matches.slice(0, accepted.length).filter(Boolean).length / accepted.length
      const wrong = verdict.matches.slice(accepted.length).filter((matches) => !matches).length / rejected.length
      return {
        valid: 1,
        accepted: right,
        rejected: wrong,
        // An expression that matches everything, or nothing, is right on half of the texts and must score 0.
        told_apart: Math.max(0, right + wrong - 1),
        correct: right === 1 && wrong === 1 ? 1 : 0
      }
    })

    return {
      items,
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, (trajectory) => Effect.map(judged(item, trajectory), (rewards) => ({ rewards })), {
          concurrency: "unbounded"
        }),
      components: {
        weights: { valid: 0, accepted: 0, rejected: 0, told_apart: 0, correct: 0, [counted]: 1 }
      },
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (value: number) => value === 1
      },
      label: promptOf,
      claims:
        source === ItemSource.generated
          ? {
              scoreRange: [0, 1] as const,
              gold: ({ pattern = "" }: Item) => [
                tagged(pattern),
                `<think>${tagged("a")}</think>${tagged(`/${pattern}/u`)}`
              ],
              wrong: ({ accepted, pattern = "", shown: reported }: Item) => [
                "",
                pattern,
                tagged(".*"),
                tagged("[^]*"),
                tagged("("),
                tagged(`${pattern})|(?:.*`),
                // Memorizes the shown texts.
                tagged(
                  accepted
                    .slice(0, reported)
                    .map((text) => text.replaceAll(/[^a-zA-Z0-9]/g, "[$&]"))
                    .join("|") || "$^"
                ),
                tagged(pattern).repeat(2)
              ]
            }
          : { untestable: "rows have texts, but no expression", scoreRange: [0, 1] as const }
    }
  })
)
