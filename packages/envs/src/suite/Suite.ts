/**
 * Turns an evaluation into an environment: the rows of its data set, asked and scored as its suite specifies.
 *
 * Items come in the order of the rows; with `limit` only that many, drawn by the seed. The score is the suite's main
 * one; the others are its components, the same names in every sample. Samples have stable ids, the reference and the
 * extracted answer. A truncated answer is scored unchanged.
 */
import { Dataset, Environment, Evaluation, Message, SeededRandom, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Schema, Stream } from "effect"
import type { Item } from "./Item.ts"
import * as Items from "./Items.ts"
import * as Likelihood from "./Likelihood.ts"
import * as Reading from "./Reading.ts"
import * as Scores from "./Scores.ts"
import { Suite } from "./Spec.ts"
import type { Verdict } from "./Verdict.ts"

/** Asks the model an item: one question, or several in one chat, each answered before the next. */
interface Chosen {
  readonly samples: number
  readonly temperature: number
  readonly topP: number
  readonly maxTokenLength: number
}

/** Trajectories of an item, one per sample. */
const makeAsking =
  (servers: Pick<ServerManager.ServerManagerShape, "chat">, { stop }: Suite, selected: Chosen) =>
  (item: Item) => {
    const ask = (messages: ReadonlyArray<Message.Message>, n: number) =>
      servers.chat({
        messages,
        n,
        temperature: selected.temperature,
        ...(selected.topP < 1 && { topP: selected.topP }),
        ...(stop !== undefined && stop.length > 0 && { stop }),
        maxTokens: selected.maxTokenLength,
        split: "eval"
      })
    const goOn = Effect.fnUntraced(function* (first: Trajectory.Trajectory) {
      let last = first
      for (const question of item.later) {
        const [next] = yield* ask([...last.messages, Message.user(question)], 1)
        last = next ?? last
      }
      return last
    })
    return Effect.flatMap(ask(item.messages, selected.samples), (answers) =>
      item.later.length === 0 ? Effect.succeed(answers) : Effect.forEach(answers, goOn, { concurrency: "unbounded" })
    )
  }

/** The model's answers, turn by turn, without those of solved examples. */
const answersOf = (
  item: Pick<Item, "messages">,
  { completion, messages }: Trajectory.Trajectory
): ReadonlyArray<string> => {
  const reply = messages
    .slice(item.messages.length)
    .filter(({ role }) => role === "assistant")
    .map(Message.text)
  return reply.length === 0 ? [completion] : [...reply.slice(0, -1), completion]
}

export { Suite } from "./Spec.ts"
export { asksJudge } from "./Scores.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const usualTokens = 2048

export const sourceOf = ({ data, layout }: Suite): string =>
  data === undefined
    ? `rows of yours: ${layout}`
    : typeof data === "string"
      ? data
      : `${data[0].source}${data.length > 1 ? ` and ${data.length - 1} more` : ""}`

/** The settings of a suite; defaults are the suite's. */
export const settingsOf = (suite: Suite) =>
  Environment.settings({
    seed: Environment.field(Schema.Int, 0, "random seed for limit"),
    data: Environment.field(
      Schema.NullOr(Schema.NonEmptyString),
      null,
      `rows in place of ${sourceOf(suite)}: a file, or a data set of the hub`
    ),
    limit: Environment.field(
      Schema.NullOr(positive),
      null,
      "number of rows to evaluate, drawn by the seed; if unset, all"
    ),
    samples: Environment.field(positive, suite.samples ?? 1, "answers per item, for pass@k and maj@k"),
    temperature: Environment.field(Environment.nonNegative, suite.temperature ?? 0, "sampling temperature"),
    topP: Environment.field(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
      suite.top_p ?? 1,
      "share of probability that is sampled from"
    ),
    shots: Environment.field(
      Schema.Natural,
      suite.shots?.count ?? 0,
      "solved examples in front of a question, if the suite has any"
    ),
    systemPrompt: Environment.field(Schema.NullOr(Schema.String), null, "system prompt in place of the suite's"),
    maxTokenLength: Environment.field(positive, suite.max_tokens ?? usualTokens, "maximum tokens to generate"),
    workerTimeout: Environment.field(
      Schema.Finite,
      suite.seconds ?? 600,
      "time limit per item, in seconds; 0 or less means no limit"
    ),
    tokenizerName: Environment.field(
      Schema.String,
      "bytes",
      'the policy\'s tokenizer: hub id or folder, or "bytes" for one that needs no download'
    )
  })

/** Items drawn by the seed, in their original order. */
const drawn = <A>(items: ReadonlyArray<A>, limit: number | null, seed: number): ReadonlyArray<A> => {
  if (limit === null || limit >= items.length) return items
  const kept = new Set(SeededRandom.seeded(seed, 0).shuffle(Array.from(items.keys())).slice(0, limit))
  return items.filter((_, place) => kept.has(place))
}

const meansOf = ({ mean_of: means = {} }: Suite, values: { readonly [name: string]: number }) =>
  Object.fromEntries(
    Object.entries(means).map(([name, parts]) => [
      name,
      Evaluation.mean(parts.map((part) => values[part] ?? Number.NaN))
    ])
  )

export const mainOf = (suite: Suite): string => suite.main ?? Object.keys(suite.score)[0]!

const rounding = 1e-9

const oneAnswer = ({ name }: Suite) => `${name} draws nothing: the likeliest choice is the same every time (samples: 1)`

const likelihoodsOf = ({ likelihood, score }: Suite) =>
  likelihood === undefined
    ? undefined
    : Object.fromEntries(Object.entries(score).flatMap(([name, one]) => (one.by === "likelihood" ? [[name, one]] : [])))

export const environment = (suite: Suite) =>
  Environment.layer(suite.name, settingsOf(suite), (selected) =>
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      const dataset = yield* Dataset.Dataset
      const all = yield* Effect.cached(
        Effect.map(Items.read(suite, selected), (items) => drawn(items, selected.limit, selected.seed)).pipe(
          Effect.provideService(Dataset.Dataset, dataset)
        )
      )
      const items = Stream.unwrap(Effect.map(all, Stream.fromArray))
      const main = mainOf(suite)
      const shared = {
        items: (cursor: number) => Stream.drop(items, cursor),
        id: ({ id }: Item) => id,
        label: ({ id, question }: Item) => `${id}: ${question}`,
        claims: { untestable: "the answers are a data set's" }
      }
      const isCorrect = (score: number) => score >= (suite.solved_from ?? 1) - rounding

      const likelihoods = likelihoodsOf(suite)
      if (likelihoods !== undefined) {
        if (selected.samples > 1)
          return yield* new Dataset.DatasetError({ source: suite.name, message: oneAnswer(suite) })
        const weigh = yield* Likelihood.make(servers, likelihoods, main)
        return {
          ...shared,
          collectTrajectories: (item: Item) => Effect.map(weigh(item), (group) => ({ groups: [group] })),
          evaluation: { items, collectTrajectories: weigh, isCorrect },
          cannotRescore: "its score is what the model made of every choice, of which a rollout holds one"
        }
      }

      const scores = yield* Effect.forEach(Object.entries(suite.score), ([name, spec]) => Scores.make(name, spec))
      const ask = makeAsking(servers, suite, selected)
      const judge = Effect.fn("Suite.judge")(function* (item: Item, trajectory: Trajectory.Trajectory) {
        const turns = answersOf(item, trajectory).map(Reading.spoken)
        const answer = { text: turns.at(-1) ?? "", turns, isCut: trajectory.finishReason === "length" }
        const verdicts: ReadonlyArray<Verdict> = yield* Effect.forEach(scores, (score) => score(item, answer), {
          concurrency: 4
        })
        const own: { readonly [name: string]: number } = Object.assign({}, ...verdicts.map(({ values }) => values))
        const values = { ...own, ...meansOf(suite, own) }
        const score = values[main] ?? Number.NaN
        const parsed = verdicts.find(({ values }) => main in values)?.parsed ?? null
        const judged: Environment.Score = {
          score,
          rewards: values,
          sample: {
            id: item.id,
            row: item.row,
            ...(item.category !== undefined && { category: item.category }),
            gold: item.gold,
            parsed,
            ...Object.assign({}, ...verdicts.map(({ notes }) => notes ?? {}))
          }
        }
        return judged
      })

      return {
        ...shared,
        collectTrajectories: ask,
        score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
          Effect.forEach(group, (trajectory) => judge(item, trajectory), { concurrency: 8 }),
        evaluation: { items, collectTrajectories: ask, isCorrect }
      }
    })
  )
