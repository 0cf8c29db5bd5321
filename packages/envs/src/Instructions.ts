/**
 * Asks for verifiable instructions ("answer in at least 40 words", "no commas", "two sections") and checks them by
 * program.
 *
 * Score 1 if the text after the only think block meets all constraints, else 0 (or the share met). Filler, copies of
 * the prompt and truncated answers score 0. Prompts are generated, or rows in the shape of RLVR-IFeval. Items repeat
 * until solved: a group that averages above `max_average` retires its item and is not trained on. Constraints: Zhou et
 * al. 2023, https://arxiv.org/abs/2311.07911. Behaviour: instruction_following_algorithm_environment.py of the
 * original, six of whose checkers could not be satisfied.
 */
import { Environment, Evaluation, Message, type RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemQueue from "./kit/ItemQueue.ts"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Schema, Stream } from "effect"
import * as Checkers from "./instructions/Checkers.ts"
import { isCopy, isFiller } from "./instructions/Filler.ts"
import * as Pool from "./instructions/Pool.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("allenai/RLVR-IFeval/train"),
  thinking: SingleTurn.thinking,
  promptField: Environment.field(Schema.NonEmptyString, "messages", "column with the prompt: a text or a chat"),
  groundTruthField: Environment.field(
    Schema.NonEmptyString,
    "ground_truth",
    "column with the constraints: JSON with func_name and arguments, or a list of these"
  ),
  scoring: Environment.field(
    Schema.Literals(["all", "share"]),
    "all",
    "all: 1 if every constraint is met, else 0; share: the share of constraints met"
  ),
  refuseFiller: Environment.field(Schema.Boolean, true, "score filler words and copies of the prompt as 0"),
  adaptive: Environment.field(
    Schema.Boolean,
    true,
    "bring items back until they are solved; if false, each comes once per epoch"
  ),
  maxAverage: Environment.field(
    Schema.Finite,
    0.75,
    "groups with a higher average score are not trained on; with adaptive, their item counts as solved"
  ),
  poolSize: Environment.field(positive, 2000, "size of the pool of generated items, with adaptive"),
  maxConstraints: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })),
    3,
    "maximum number of constraints in a generated prompt"
  )
})

interface Item extends Pool.Item {
  readonly index: number
}

const unplaced = (item: Pool.Item): Item => ({ ...item, index: -1 })

const thinkFirst = Message.system(
  "Think between <think> and </think> first, then write your answer. Only what follows </think> is looked at; what is asked of an answer must hold for the whole of it."
)

export const layer = Environment.layer("instructions", settings, (selected) =>
  Effect.gen(function* () {
    const { adaptive, maxAverage, refuseFiller, scoring, source, thinking } = selected
    const servers = yield* ServerManager.ServerManager
    const checkers = yield* Checkers.load
    const pool =
      source === ItemSource.generated ? Pool.generated(checkers, selected) : yield* Pool.ofRows(checkers, selected)
    const { at, heldOut, size } = pool
    // Strictly above the maximum: the smallest number greater than it.
    const queue = yield* ItemQueue.make({ size, retireFrom: maxAverage + Number.EPSILON, startsOver: true })

    const asking = SingleTurn.make(servers, selected, ({ prompt }: Item) => ({
      messages: [...(thinking ? [thinkFirst] : []), Message.user(prompt)]
    }))
    const judged = (item: Item, { completion, finishReason }: Trajectory.Trajectory): RewardComponents.Rewards => {
      const { constraints } = item
      const answer = Thinking.answer(completion, thinking) ?? ""
      if (finishReason === "length" || (refuseFiller && (isFiller(answer) || isCopy(answer, item)))) {
        return { met: 0, complete: 0 }
      }
      const met = constraints.filter((constraint) => constraint.isMet(answer)).length
      return { met: met / constraints.length, complete: met === constraints.length ? 1 : 0 }
    }
    const asAnswer = (text: string): string => (thinking ? `<think>I check each point.</think>\n${text}` : text)

    return {
      items: (cursor: number) =>
        adaptive
          ? Stream.map(queue.items(cursor), (index): Item => ({ ...at(index), index }))
          : Stream.map(pool.items(cursor), unplaced),
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.sync(() => group.map((trajectory) => ({ rewards: judged(item, trajectory) }))),
      components: { weights: scoring === "share" ? { met: 1, complete: 0 } : { met: 0, complete: 1 } },
      afterScore: ({ index }: Item, { values }: Environment.JudgedGroup) => {
        const average = Evaluation.mean(values)
        // A group of equal scores is dropped for that reason anyway.
        const isLeftOut = average > maxAverage && values.some((value) => value !== values[0])
        const followUp = isLeftOut ? { leaveOut: `too easy: its average is ${average}` } : {}
        return Effect.as(adaptive ? queue.record({ index, average }) : Effect.void, followUp)
      },
      ...(adaptive && { state: queue.state, metrics: queue.metrics }),
      evaluation: { items: Stream.map(heldOut, unplaced), collectTrajectories: asking.evaluate },
      id: ({ constraints, prompt }: Item) => [prompt, constraints.map(({ instruction }) => instruction)],
      label: ({ constraints, prompt }: Item) => `${prompt} [${constraints.map(({ name }) => name).join(", ")}]`,
      claims:
        source === ItemSource.generated
          ? {
              scoreRange: [0, 1] as const,
              gold: ({ sample = "" }: Item) => [asAnswer(sample)],
              wrong: ({ sample = "" }: Item) => [
                "",
                asAnswer("?"),
                asAnswer("I do not know."),
                ...(thinking ? [sample] : [])
              ]
            }
          : { untestable: "rows have constraints, but no answers", scoreRange: [0, 1] as const }
    }
  })
)
