/**
 * Asks questions to be answered with the tools of an MCP server over stdio or HTTP, by default the small built-in
 * warehouse.
 *
 * The model calls tools over several turns and answers in an `<answer>` tag: 1 if right, else 0. In addition, every
 * turn has its own advantage: the share of its calls that succeeded (`ToolEpisode`). Turns, calls, tokens and time are
 * bounded. With `source`, rows of questions and answers about the server's data.
 */
import { Columns, Dataset, Environment, Message, RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as ItemSource from "../kit/ItemSource.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as TextAnswer from "../verify/Text.ts"
import * as Thinking from "../kit/Thinking.ts"
import * as Toolbox from "../kit/tools/Toolbox.ts"
import * as ToolEpisode from "../kit/tools/ToolEpisode.ts"
import { Effect, Result, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as McpTools from "../tools/McpTools.ts"
import * as Warehouse from "../tools/Warehouse.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const names = Schema.Array(Schema.NonEmptyString)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  command: Environment.field(Schema.String, "warehouse", 'program of the MCP server; "warehouse" is the built-in one'),
  args: Environment.field(names, [], "arguments of that program"),
  url: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "URL of an MCP server over HTTP, instead of a program"
  ),
  tools: Environment.field(names, [], "tools of the server to offer; if empty, all"),
  source: Environment.field(
    Schema.NonEmptyString,
    "generated",
    'rows with questions and answers: a data set on the hub, or a file; "generated" makes questions about the warehouse'
  ),
  questionColumn: Environment.field(Schema.NonEmptyString, "question", "column with the question"),
  answerColumn: Environment.field(Schema.NonEmptyString, "answer", "column with the answer"),
  maxTurns: Environment.field(positive, 6, "model turns per episode"),
  maxCalls: Environment.field(positive, 12, "maximum tool calls per episode"),
  maxSeconds: Environment.field(positive, 120, "time limit per episode, in seconds"),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per turn"),
  outcomeWeight: Environment.field(
    Environment.nonNegative,
    1,
    "weight of the outcome relative to the turn in token-level advantages"
  ),
  evaluationItems: Environment.field(positive, 32, "generated questions per evaluation")
})

const warehouse = (seed: number): McpTools.Server => {
  const isSource = import.meta.url.endsWith(".ts")
  const file = new URL(isSource ? "../tools/WarehouseServer.ts" : "../tools/WarehouseServer.js", import.meta.url)
  const conditions = isSource ? ["--conditions=atropos-src"] : []
  return { command: process.execPath, args: [...conditions, fileURLToPath(file), String(seed)] }
}

interface Item extends Warehouse.Question {
  readonly samplingSeed: number
}

/** Compares the model's last answer with the item's. */
export const isRight = (
  { answer }: Pick<Item, "answer">,
  trajectory: Pick<Trajectory.Trajectory, "messages">
): boolean => {
  const reply = Thinking.taggedAnswer(Episode.answersOf(trajectory).at(-1) ?? "")
  return reply !== undefined && TextAnswer.equivalent(answer, reply)
}

const tagged = (answer: string): string => `<answer>${answer}</answer>`

export const layer = Environment.layer("mcp", settings, (selected) =>
  Effect.gen(function* () {
    const { groupSize, maxAnswerTokens, maxTokenLength, outcomeWeight, seed } = selected
    const servers = yield* ServerManager.ServerManager
    const dataset = yield* Dataset.Dataset
    const server: McpTools.Server =
      selected.url !== null
        ? { url: selected.url }
        : selected.command === "warehouse"
          ? warehouse(seed)
          : { command: selected.command, args: selected.args }
    const toolbox = Toolbox.make(yield* McpTools.make(server, selected.tools))
    const stock = Warehouse.make(seed)
    const columns = {
      question: { setting: "question_column", column: selected.questionColumn, kind: Columns.text },
      answer: { setting: "answer_column", column: selected.answerColumn, kind: Columns.text }
    } as const
    const source =
      selected.source === "generated"
        ? ItemSource.drawn<Item>({
            ...selected,
            draw: (random, samplingSeed) => ({ ...Warehouse.ask(stock, random), samplingSeed }),
            key: ({ question }) => question
          })
        : yield* ItemSource.shuffledRowsAs({ ...selected, testSource: null, columns }, (row) =>
            Result.succeed<Item>({ ...row, samplingSeed: seed })
          ).pipe(Effect.provideService(Dataset.Dataset, dataset))
    const episodes = ({ question, samplingSeed }: Item, count: number, split: "train" | "eval") =>
      ToolEpisode.playGroup(toolbox, [Message.system(instructions), Message.user(question)], {
        count,
        limits: { turns: selected.maxTurns, calls: selected.maxCalls, seconds: selected.maxSeconds },
        maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
        seed: samplingSeed,
        split,
        temperature: split === "train" ? selected.temperature : selected.evalTemperature
      }).pipe(Effect.provideService(ServerManager.ServerManager, servers))
    const rule = RewardComponents.ruleOf(selected, ToolEpisode.answeredRule)
    return {
      items: source.items,
      collectTrajectories: (item: Item) => episodes(item, groupSize, "train"),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        const rewards = group.map((episode) => ToolEpisode.answered(episode, isRight(item, episode)))
        return Effect.succeed(ToolEpisode.scoredParts(group, rewards, rule, { outcomeWeight }))
      },
      components: ToolEpisode.answeredRule,
      evaluation: { items: source.heldOut, collectTrajectories: (item: Item) => episodes(item, 1, "eval") },
      label: ({ question }: Item) => question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answer }: Item) => [tagged(answer), `<think>I asked.</think>It is ${tagged(`${answer}.`)}`],
        wrong: ({ answer }: Item) => [
          answer,
          tagged(`${answer}1`),
          tagged(answer) + tagged("7"),
          `<think>${tagged(answer)}</think>`
        ]
      }
    }
  })
)

const instructions = `You answer questions with the help of tools. Call as many as you need, one after another or several at once; read what they
answer. When you know the answer, give it like this: <answer>42</answer>`
