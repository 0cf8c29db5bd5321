/**
 * Asks for exactly the tool calls that a request needs, in one turn.
 *
 * Score 1 if the calls of the answer can be paired one to one with the expected ones (same name, every expected
 * argument equal, more arguments allowed), after exactly one think block if `thinking` is on; else -1. Unparsable calls
 * are ignored. If all of a group are right, shorter ones score higher. Requests are generated, or rows in the shape of
 * NousResearch/XLAM-Atropos: a column of messages from `system`, `human` and `gpt`. Behaviour: tool_calling_server.py
 * of the original.
 */
import {
  Columns,
  Dataset,
  Environment,
  Message,
  type RewardComponents,
  ServerManager,
  ToolCalls,
  type Trajectory
} from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Result, Schema } from "effect"
import * as PartialCredit from "./tools/PartialCredit.ts"
import * as Requests from "./tools/Requests.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "generated",
    'rows: a data set on the hub, or a file; "generated" makes requests with six tools'
  ),
  conversationsColumn: Environment.field(Schema.NonEmptyString, "conversations", "column with the messages"),
  mostCalls: Environment.field(
    positive.check(Schema.isLessThanOrEqualTo(6)),
    3,
    "maximum number of calls in a generated request"
  ),
  thinking: Environment.field(Schema.Boolean, true, "require exactly one think block at the start of an answer"),
  testSource: ItemSource.testSource,
  evaluationItems: Environment.field(positive, 64, "held-out generated requests per evaluation"),
  partialReward: PartialCredit.field
})

export interface Item {
  /** The messages before the answer: system and user. */
  readonly prompt: ReadonlyArray<Message.Message>
  readonly expected: ReadonlyArray<ToolCalls.Call>
}

export const isRight = (expected: ReadonlyArray<ToolCalls.Call>, completion: string, thinking: boolean): boolean => {
  const answer = thinking ? Thinking.answer(completion) : Thinking.visibleText(completion)
  return answer !== undefined && expected.length > 0 && ToolCalls.matchOneToOne(expected, ToolCalls.callsOf(answer))
}

const instructions = (
  tools: string,
  thinking: boolean
): string => `You are an assistant with tools. These are their signatures:
<tools>
${tools}
</tools>
${thinking ? "Think first, between <think> and </think>. Then call" : "Call"} every tool that the request needs, each like this and nothing else:
<tool_call>{"name": "tool_name", "arguments": {"argument": "value"}}</tool_call>`

const Turns = Schema.Array(Schema.Struct({ from: Schema.String, value: Schema.String }))
const decodeTurns = Schema.decodeUnknownResult(Turns)

/** A row's conversation up to its first answer, and the calls of that answer. */
export const itemOf = (conversations: unknown, thinking: boolean): Result.Result<Item, string> => {
  const turns = decodeTurns(conversations)
  if (Result.isFailure(turns)) return Result.fail("the messages are not a list of { from, value }")
  const textBy = (who: string): string | undefined => turns.success.find(({ from }) => from === who)?.value
  const [system, human, gpt] = [textBy("system"), textBy("human"), textBy("gpt")]
  const expected = gpt === undefined ? [] : ToolCalls.callsOf(gpt)
  if (human === undefined) return Result.fail("no message from human")
  if (expected.length === 0) return Result.fail("the message from gpt has no tool call")
  const think = thinking ? ["Think first, between <think> and </think>."] : []
  const systemPrompt = [...think, ...(system === undefined ? [] : [system])].join("\n\n")
  return Result.succeed({
    prompt: [...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]), Message.user(human)],
    expected
  })
}

export const layer = Environment.layer("tool-calling", settings, (selected) =>
  Effect.gen(function* () {
    const { mostCalls: maxCalls, partialReward, thinking } = selected
    const servers = yield* ServerManager.ServerManager
    const dataset = yield* Dataset.Dataset
    const columns = {
      turns: { setting: "conversations_column", column: selected.conversationsColumn, kind: Columns.anything }
    } as const
    const source =
      selected.source === "generated"
        ? ItemSource.drawn<Item>({
            ...selected,
            draw: (random) => {
              const { expected, request, tools } = Requests.draw(random, maxCalls)
              const systemPrompt = instructions(Requests.toPrompt(tools), thinking)
              return { prompt: [Message.system(systemPrompt), Message.user(request)], expected }
            },
            key: ({ prompt }) => prompt.map(Message.text).join()
          })
        : yield* ItemSource.shuffledRowsAs({ ...selected, columns }, ({ turns }) => itemOf(turns, thinking)).pipe(
            Effect.provideService(Dataset.Dataset, dataset)
          )
    const asking = SingleTurn.make(servers, selected, ({ prompt }: Item) => ({ messages: prompt }))
    const answerOf = (calls: ReadonlyArray<ToolCalls.Call>): string =>
      (thinking ? "<think>Which tools are needed?</think>\n" : "") + calls.map(ToolCalls.writeCall).join("\n")
    return {
      items: source.items,
      collectTrajectories: asking.train,
      score: ({ expected }: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        const right = group.map(({ completion }) => isRight(expected, completion, thinking))
        const credited = SingleTurn.rightAndShort(right, group, selected).map((rewards, index) => {
          const calls = () => ToolCalls.callsOf(Thinking.visibleText(group[index]!.completion))
          return { rewards: PartialCredit.add(rewards, expected, calls, partialReward) }
        })
        return Effect.succeed(credited)
      },
      components: PartialCredit.ruleOf(SingleTurn.rightAndShortRule, partialReward),
      evaluation: {
        items: source.heldOut,
        collectTrajectories: asking.evaluate,
        // Right answers score less the longer they are.
        isCorrect: (_: number, rewards?: RewardComponents.Rewards) => rewards?.["correct"] === 1
      },
      label: ({ prompt }: Item) => Message.text(prompt.at(-1)!),
      claims: {
        scoreRange: [-1, 1] as const,
        gold: ({ expected }: Item) => [answerOf(expected), answerOf(expected.toReversed())],
        wrong: ({ expected }: Item) => [
          "I will do that.",
          answerOf([...expected, expected[0]!]),
          answerOf(expected.slice(1)),
          answerOf(expected.map((call) => ({ ...call, name: `${call.name}s` }))),
          `${answerOf([])}<think>${answerOf(expected)}`
        ]
      }
    }
  })
)
