/**
 * Runs real tools over several turns: a calculator, Python in the sandbox, and search in a small gazetteer.
 *
 * The model calls tools and answers in an `<answer>` tag: 1 if right, else 0. In addition, every turn has its own
 * advantage: the share of its calls that succeeded (`ToolEpisode`). A tool's failure is an observation. Turns, calls,
 * tokens and time are bounded. Questions are generated: tedious sums, programs, and research about a fictional country.
 * With `source` the items are pre-written dialogues with tool calls and replies (`tools/Scripted`): nothing is run, and
 * making the same calls is rewarded.
 */
import { Columns, Environment, Message, RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as Episode from "./kit/Episode.ts"
import * as ItemSource from "./kit/ItemSource.ts"
import * as Sandbox from "./sandbox/Sandbox.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as TextAnswer from "./verify/Text.ts"
import * as Thinking from "./kit/Thinking.ts"
import * as Tool from "./kit/tools/Tool.ts"
import * as Toolbox from "./kit/tools/Toolbox.ts"
import * as ToolEpisode from "./kit/tools/ToolEpisode.ts"
import { Effect, Result, Schema } from "effect"
import * as Computations from "./tools/Computations.ts"
import * as Gazetteer from "./tools/Gazetteer.ts"
import * as Script from "./tools/Script.ts"
import * as Scripted from "./tools/Scripted.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const kinds = ["calculation", "program", "research"] as const

export const settings = Environment.settings({
  ...SingleTurn.fields,
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(kinds)),
    ["calculation", "program", "research"],
    "kinds of questions: calculation, program, research"
  ),
  source: Environment.field(
    Schema.NonEmptyString,
    ItemSource.generated,
    "generated questions, or pre-written dialogues: a file, or a data set on the hub, for example interstellarninja/hermes_reasoning_tool_use/train"
  ),
  testSource: ItemSource.testSource,
  conversationsColumn: Environment.field(
    Schema.NonEmptyString,
    "conversations",
    "with source: column with the messages, as { from, value } or { role, content, tool_calls }"
  ),
  toolsColumn: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    "tools",
    "with source: column with the tools, unless they are in the system prompt; null: none"
  ),
  maxTurns: Environment.field(positive, 6, "model turns per episode"),
  maxCalls: Environment.field(positive, 12, "maximum tool calls per episode"),
  maxSeconds: Environment.field(positive, 120, "time limit per episode, in seconds"),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per turn"),
  outcomeWeight: Environment.field(
    Environment.nonNegative,
    1,
    "weight of the outcome relative to the turn in token-level advantages"
  ),
  evaluationItems: Environment.field(positive, 32, "held-out questions per evaluation")
})

type Settings = Parameters<typeof settings.encode>[0]

interface Question {
  readonly _tag: "Question"
  readonly question: string
  readonly answer: string
  readonly samplingSeed: number
}

interface Dialogue {
  readonly _tag: "Dialogue"
  readonly script: Script.Script
}

type Item = Question | Dialogue

/** Questions have the first two components, dialogues the others. */
const components: RewardComponents.Rule = {
  weights: { ...ToolEpisode.answeredRule.weights, ...Scripted.rule.weights }
}

const dialogues = ({ conversationsColumn, seed, source, testSource, toolsColumn }: Settings) =>
  ItemSource.shuffledRowsAs(
    {
      source,
      testSource,
      seed,
      columns: {
        conversation: { setting: "conversations_column", column: conversationsColumn, kind: Columns.written },
        ...(toolsColumn !== null && {
          tools: { setting: "tools_column", column: toolsColumn, kind: Columns.optional(Columns.written) }
        })
      }
    },
    ({ conversation, tools }) =>
      Result.map(Script.ofRow(conversation, tools), (script): Item => ({ _tag: "Dialogue", script }))
  )

const arithmetic = /^[\d\s+\-*/().%]{1,200}$/

const calculator = (python: (source: string) => Effect.Effect<string, Tool.ToolError | Sandbox.SandboxError>) =>
  Tool.make({
    name: "calculator",
    description: "Works out an expression of numbers, + - * / % ( ).",
    parameters: Schema.Struct({ expression: Schema.String }),
    run: ({ expression }) =>
      arithmetic.test(expression) && !expression.includes("**")
        ? python(`print(${expression})`)
        : Effect.fail(
            new Tool.ToolError({ message: "the expression may have numbers, + - * / % ( ) and nothing else" })
          )
  })

/** The output of a program, or why it failed. */
const runPython =
  (sandbox: Sandbox.SandboxShape) =>
  (source: string): Effect.Effect<string, Tool.ToolError | Sandbox.SandboxError> =>
    Effect.flatMap(sandbox.run({ source }), ({ ending, stderr, stdout }) =>
      ending === "finished"
        ? Effect.succeed(stdout.trim() === "" ? "(nothing was printed)" : stdout.trim())
        : Effect.fail(new Tool.ToolError({ message: `${ending}: ${stderr.trim().split("\n").at(-1) ?? ""}` }))
    )

const tagged = (answer: string): string => `<answer>${answer}</answer>`

const goldOf = ({ answer }: Question) => [
  tagged(answer),
  `<think>I looked it up.</think>It is ${tagged(` ${answer}.`)}`
]

const wrongOf = ({ answer }: Question) => [
  answer,
  tagged(`${answer}1`),
  tagged(answer) + tagged("7"),
  `<think>${tagged(answer)}</think>`
]

const label = (item: Item): string =>
  item._tag === "Question" ? item.question : Message.text(item.script.prompt.at(-1)!)

export const layer = Environment.layer("tool-use", settings, (selected) =>
  Effect.gen(function* () {
    const { groupSize, maxAnswerTokens, maxTokenLength, outcomeWeight, seed } = selected
    const servers = yield* ServerManager.ServerManager
    const python = runPython(yield* Sandbox.Sandbox)
    const gazetteer = Gazetteer.make(seed)
    const toolbox = Toolbox.make<Sandbox.SandboxError, never>([
      calculator(python),
      Tool.make({
        name: "python",
        description: "Runs a Python program (standard library only) and answers with what it prints.",
        parameters: Schema.Struct({ code: Schema.String }),
        run: ({ code }) => python(code)
      }),
      Tool.make({
        name: "search",
        description: "The three best articles of the gazetteer for some words.",
        parameters: Schema.Struct({ query: Schema.String }),
        run: ({ query }) => {
          const found = Gazetteer.search(gazetteer, query, 3)
          return found.length === 0
            ? Effect.fail(new Tool.ToolError({ message: `no article has any of the words ${query}` }))
            : Effect.succeed(found.map(({ text, title }) => `${title}: ${text}`).join("\n"))
        }
      })
    ])
    const ask = {
      calculation: Computations.calculation,
      program: Computations.program,
      research: (random: Parameters<typeof Computations.program>[0]) => Gazetteer.ask(gazetteer, random)
    }
    const source =
      selected.source === ItemSource.generated
        ? ItemSource.drawn<Item>({
            ...selected,
            draw: (random, samplingSeed) => ({
              _tag: "Question",
              ...ask[random.pick(selected.kinds)](random),
              samplingSeed
            }),
            key: label
          })
        : yield* dialogues(selected)
    const episodes = (item: Item, count: number, split: "train" | "eval") => {
      const options = {
        limits: { turns: selected.maxTurns, calls: selected.maxCalls, seconds: selected.maxSeconds },
        maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
        split,
        temperature: split === "train" ? selected.temperature : selected.evalTemperature
      }
      const played =
        item._tag === "Question"
          ? ToolEpisode.playGroup(toolbox, [Message.system(instructions), Message.user(item.question)], {
              ...options,
              count,
              seed: item.samplingSeed
            })
          : Scripted.playGroup(item.script, { ...options, count })
      return Effect.provideService(played, ServerManager.ServerManager, servers)
    }
    const rule = RewardComponents.ruleOf(selected, components)
    return {
      items: source.items,
      collectTrajectories: (item: Item) => episodes(item, groupSize, "train"),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        if (item._tag === "Dialogue") return Effect.succeed(Scripted.score(item.script, group, rule, { outcomeWeight }))
        const rewards = group.map((episode) => {
          const reply = Thinking.taggedAnswer(Episode.answersOf(episode).at(-1) ?? "")
          return ToolEpisode.answered(episode, reply !== undefined && TextAnswer.equivalent(item.answer, reply))
        })
        return Effect.succeed(ToolEpisode.scoredParts(group, rewards, rule, { outcomeWeight }))
      },
      components,
      evaluation: { items: source.heldOut, collectTrajectories: (item: Item) => episodes(item, 1, "eval") },
      label,
      claims: {
        scoreRange: [0, 1] as const,
        gold: (item: Item) => (item._tag === "Dialogue" ? Scripted.gold(item.script) : goldOf(item)),
        wrong: (item: Item) => (item._tag === "Dialogue" ? Scripted.wrong(item.script) : wrongOf(item))
      }
    }
  })
)

const instructions = `You answer questions with the help of tools: a calculator, Python, and search in a gazetteer. Call as many as you need, one after
another or several at once; read what they answer. When you know the answer, give it like this: <answer>42</answer>`
