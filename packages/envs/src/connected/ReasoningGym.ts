/**
 * Asks the tasks of reasoning-gym (Python): puzzles, arithmetic, algebra, logic, graphs, games, generated endlessly and
 * scored by the package.
 *
 * `dataset` names one of them, or several with weights ("leg_counting:2, chain_sum"). The same seed gives the same
 * items (except non-deterministic data sets, such as list_functions). The answer is read between `<answer>` tags, else
 * the whole text is used. Scores are the package's, from 0 to 1; an answer that makes its scorer raise an exception
 * scores 0 and is counted. Needs Python with the package (docs/python.md).
 */
import { Environment, Message, SeededRandom, ServerManager, type Trajectory } from "@atropos/core"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema, Stream } from "effect"
import * as Bridge from "../python/Bridge.ts"
import * as Mix from "../python/Mix.ts"
import * as PythonSettings from "../python/PythonSettings.ts"

const packageName = "reasoning-gym"

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...PythonSettings.fields,
  dataset: Environment.field(
    Schema.NonEmptyString,
    "chain_sum",
    "data sets, separated by commas, each with a weight if it is not 1 (leg_counting:2, chain_sum); atropos envs reasoning-gym --list shows all"
  ),
  config: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'settings of the data set, such as {"min_terms": 4}; with several data sets an object for each, by name'
  ),
  difficulty: Environment.field(
    Schema.Natural,
    0,
    "level of the data set's curriculum, from 1; 0: the data set's own defaults"
  ),
  instructions: Environment.field(
    Schema.String,
    "Think first. Then give your final answer between <answer> and </answer>.",
    "system prompt; if empty, none"
  ),
  size: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    10_000,
    "items of each data set, after which they repeat; some data sets generate all of them at the start"
  ),
  evaluationItems: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    100,
    "held-out items per evaluation, of every data set in turn"
  )
})

interface Item {
  readonly part: number
  readonly index: number
  /** Held-out items use another seed. */
  readonly heldOut: boolean
  readonly name: string
  /** The package's own answer, if the item has one. */
  readonly answer?: string
}

const Question = Schema.Struct({ question: Schema.String, answer: Schema.Unknown, metadata: Schema.Unknown })
const Scores = Schema.Struct({
  scores: Schema.Array(Schema.Finite),
  /** Answers that made the package's scorer raise an exception; they score 0. */
  raised: Schema.Array(Schema.Struct({ answer: Schema.Int, error: Schema.String }))
})
const Info = Schema.Struct({ shape: Schema.Literal("single") })

export const layer = Environment.layer("reasoning-gym", settings, (selected) =>
  Effect.gen(function* () {
    const { config, dataset, difficulty, evaluationItems, instructions, python, seed, size } = selected
    const parts = yield* Mix.read(dataset)
    const servers = yield* ServerManager.ServerManager
    const bridge = yield* Bridge.make({
      words: yield* PythonSettings.words(python, packageName),
      kind: packageName,
      packageName,
      name: dataset,
      config: {
        seed,
        size,
        parts: parts.map(({ name }) => ({
          name,
          level: difficulty,
          config: parts.length === 1 ? config : (config[name] ?? {})
        }))
      },
      info: Info
    })
    const drawn = Mix.drawing(parts)
    /** The data set is drawn at random; its items come in order, so that none repeats. */
    const itemAt = (index: number): Item => {
      const part = drawn(SeededRandom.seeded(seed, index))
      return { part, index: index % size, heldOut: false, name: parts[part]!.name }
    }
    const questionOf = ({ heldOut, index, part }: Item) => bridge.call("item", { part, index, heldOut }, Question)
    /** Adds the item's answer. If it cannot be generated now, the rollout requests it again. */
    const answered = (item: Item) =>
      Effect.match(questionOf(item), {
        onFailure: () => item,
        onSuccess: ({ answer }): Item => (typeof answer === "string" ? { ...item, answer } : item)
      })
    const ask = Effect.fnUntraced(function* (item: Item, n: number, split: "train" | "eval") {
      const { question } = yield* questionOf(item)
      return yield* servers.chat({
        messages: [...(instructions === "" ? [] : [Message.system(instructions)]), Message.user(question)],
        maxTokens: selected.maxTokenLength,
        n,
        temperature: split === "train" ? selected.temperature : selected.evalTemperature,
        split
      })
    })
    let raisedCount = 0
    const score = Effect.fnUntraced(function* (
      { heldOut, index, name, part }: Item,
      completions: ReadonlyArray<string>
    ) {
      const { raised, scores } = yield* bridge.call("score", { part, index, heldOut, completions }, Scores)
      const [first] = raised
      if (first !== undefined && raisedCount === 0) {
        yield* Effect.logWarning("package scorer failed on an answer; it scores 0", {
          dataset: name,
          item: index,
          error: first.error
        })
      }
      raisedCount += raised.length
      return scores
    })

    return {
      items: (cursor: number) =>
        Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(
          Stream.map(itemAt),
          Stream.mapEffect(answered),
          bridge.items
        ),
      collectTrajectories: (item: Item) => ask(item, selected.groupSize, "train"),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        score(
          item,
          group.map(({ completion }) => Thinking.visibleText(completion))
        ),
      evaluation: {
        items: Stream.range(0, evaluationItems - 1).pipe(
          Stream.map((index): Item => {
            const part = index % parts.length
            return { part, index, heldOut: true, name: parts[part]!.name }
          }),
          bridge.items
        ),
        collectTrajectories: (item: Item) => ask(item, 1, "eval"),
        isCorrect: (score: number) => score >= 1
      },
      metrics: Effect.sync(() => ({ "python/unreadable_answers": raisedCount })),
      // These determine the item.
      id: ({ heldOut, index, name }: Item) => [name, config, difficulty, seed, heldOut, index],
      label: ({ index, name }: Item) => `${name} ${index}`,
      claims: {
        scoreRange: [0, 1] as const,
        // Some data sets have items with several right answers, and name none.
        gold: ({ answer }: Item) => (answer === undefined ? [] : [answer]),
        wrong: ({ answer }: Item) => (answer === undefined ? [] : ["", `no ${answer.length}`])
      }
    }
  })
)
