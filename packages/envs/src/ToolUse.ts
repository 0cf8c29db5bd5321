/**
 * Tools that are really run: a calculator, Python in the sandbox, and search in a small gazetteer, over several turns.
 *
 * The model calls tools and gives its answer in an `<answer>` tag: 1 for the right one, else 0; every turn has its own
 * advantage beside, by the share of its calls that succeeded (`ToolEpisode`). What a tool cannot do is an observation.
 * Turns, calls, tokens and time are bounded. Questions are generated from the seed: tedious sums, programs, and
 * research about a country that does not exist.
 */
import {
  Environment,
  Episode,
  ItemSource,
  Message,
  Sandbox,
  ServerManager,
  SingleTurn,
  TextAnswer,
  Thinking,
  Tool,
  Toolbox,
  ToolEpisode,
  type Trajectory
} from "@atropos/core"
import { Effect, Schema } from "effect"
import * as Computations from "./tools/Computations.ts"
import * as Gazetteer from "./tools/Gazetteer.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const kinds = ["calculation", "program", "research"] as const

export const settings = Environment.settings({
  ...SingleTurn.fields,
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(kinds)),
    ["calculation", "program", "research"],
    "what to ask: calculation, program, research"
  ),
  maxTurns: Environment.field(positive, 6, "model turns per episode"),
  maxCalls: Environment.field(positive, 12, "maximum tool calls per episode"),
  maxSeconds: Environment.field(positive, 120, "time limit per episode, in seconds"),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per turn"),
  outcomeWeight: Environment.field(
    Schema.Finite,
    1,
    "weight of the outcome relative to the turn in token-level advantages"
  ),
  evaluationItems: Environment.field(positive, 32, "held-out questions per evaluation")
})

interface Item {
  readonly question: string
  readonly answer: string
  readonly samplingSeed: number
}

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

/** What a program printed, or why it did not end as it should. */
const runPython =
  (sandbox: Sandbox.SandboxShape) =>
  (source: string): Effect.Effect<string, Tool.ToolError | Sandbox.SandboxError> =>
    Effect.flatMap(sandbox.run({ source }), ({ ending, stderr, stdout }) =>
      ending === "finished"
        ? Effect.succeed(stdout.trim() === "" ? "(nothing was printed)" : stdout.trim())
        : Effect.fail(new Tool.ToolError({ message: `${ending}: ${stderr.trim().split("\n").at(-1) ?? ""}` }))
    )

const tagged = (answer: string): string => `<answer>${answer}</answer>`

export const layer = Environment.layer("tool-use", settings, (chosen) =>
  Effect.gen(function* () {
    const { groupSize, maxAnswerTokens, maxTokenLength, outcomeWeight, seed } = chosen
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
    const source = ItemSource.drawn<Item>({
      ...chosen,
      draw: (random, samplingSeed) => ({ ...ask[random.pick(chosen.kinds)](random), samplingSeed }),
      key: ({ question }) => question
    })
    const episodes = (item: Item, count: number, split: "train" | "eval") =>
      ToolEpisode.playGroup(toolbox, [Message.system(instructions), Message.user(item.question)], {
        count,
        limits: { turns: chosen.maxTurns, calls: chosen.maxCalls, seconds: chosen.maxSeconds },
        maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
        seed: item.samplingSeed,
        split,
        temperature: split === "train" ? chosen.temperature : chosen.evalTemperature
      }).pipe(Effect.provideService(ServerManager.ServerManager, servers))
    return {
      items: source.items,
      collectTrajectories: (item: Item) => episodes(item, groupSize, "train"),
      score: ({ answer }: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        const outcomes = group.map((episode) => {
          const reply = Thinking.taggedAnswer(Episode.answersOf(episode).at(-1) ?? "")
          return reply !== undefined && TextAnswer.equivalent(answer, reply) ? 1 : 0
        })
        return Effect.succeed(ToolEpisode.scored(group, outcomes, { outcomeWeight }))
      },
      evaluation: { items: source.heldOut, collectTrajectories: (item: Item) => episodes(item, 1, "eval") },
      label: ({ question }: Item) => question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answer }: Item) => [tagged(answer), `<think>I looked it up.</think>It is ${tagged(` ${answer}.`)}`],
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

const instructions = `You answer questions with the help of tools: a calculator, Python, and search in a gazetteer. Call as many as you need, one after
another or several at once; read what they answer. When you know the answer, give it like this: <answer>42</answer>`
