/**
 * Plays taxi: fetch a passenger at one landmark of a small town and drop them off at another, one action per turn.
 *
 * Gymnasium's rules, map and rewards (`TaxiRules`). Score: the return divided by the best return from the start if the
 * passenger was delivered (at least 0), -0.5 if only picked up, -1 otherwise. With `mode: stepwise` an action scores r
 * + V(s') - V(s), with V by shortest paths. An answer without an action between tags changes nothing and costs as much
 * as a refused action. The original (gym_taxi) described three landmarks wrong and took a step west for picking up.
 */
import { Environment, Message, RewardComponents } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as GameEnvironment from "../kit/GameEnvironment.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema } from "effect"
import * as TaxiRules from "./TaxiRules.ts"

export const settings = Environment.settings({
  ...GameEnvironment.fields,
  maxTurns: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 18, maximum: 200 })),
    30,
    "maximum actions per episode"
  ),
  maxAnswerTokens: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 128, "maximum tokens per turn")
})

const action = new RegExp(`<action>\\s*(${TaxiRules.actions.join("|")})\\s*</action>`, "gi")

/** The action of an answer: the last one between tags, after the thinking. */
export const actionOf = (answer: string): TaxiRules.Action | undefined =>
  Array.from(Thinking.visibleText(answer).matchAll(action))
    .at(-1)?.[1]!
    // The pattern matches only actions.
    .toLowerCase() as TaxiRules.Action | undefined

export interface State {
  readonly at: number
  readonly hasBeenPickedUp: boolean
}

const square = (row: number, column: number): string => `row ${row}, column ${column}`

const describe = (state: number): string => {
  const position = TaxiRules.decode(state)
  const { column, destination, passenger, row } = position
  const where = TaxiRules.isInTaxi(position)
    ? "The passenger is in the taxi"
    : `The passenger waits at ${TaxiRules.landmarks[passenger]!.name}`
  return `The taxi is at ${square(row, column)}. ${where} and wants to go to ${TaxiRules.landmarks[destination]!.name}. These would do something: ${TaxiRules.sensible(state).join(", ")}.`
}

const rule: RewardComponents.Rule = { weights: { picked_up: 0.5, delivered: 0.5, directness: 1 }, base: -1 }

/** `directness`: the return divided by the best one from the start, if the passenger arrived. */
const partsOf = (start: State, { isOver, rewards, state }: Episode.Played<State>): RewardComponents.Rewards => {
  const sum = rewards.reduce((all, reward) => all + reward, 0)
  return {
    picked_up: state.hasBeenPickedUp ? 1 : 0,
    delivered: isOver ? 1 : 0,
    directness: isOver ? Math.max(0, sum / TaxiRules.value(start.at)) : 0
  }
}

export const makeGame = (maxTurns: number): GameEnvironment.PlayableGame<State> => ({
  maxTurns,
  start: (random) => ({ at: random.pick(TaxiRules.starts), hasBeenPickedUp: false }),
  opening: ({ at }) => [Message.system(rules(maxTurns)), Message.user(describe(at))],
  step: (state, answer) => {
    const selected = actionOf(answer)
    if (selected === undefined) {
      return { state, reward: -10, isOver: false, observation: `That was no action. ${describe(state.at)}` }
    }
    const { isOver, reward, state: at } = TaxiRules.act(state.at, selected)
    const hasBeenPickedUp = state.hasBeenPickedUp || TaxiRules.isInTaxi(TaxiRules.decode(at))
    const refused = reward === -10 ? `${selected} is not possible here. ` : ""
    return { state: { at, hasBeenPickedUp }, reward, isOver, observation: `${refused}${describe(at)}` }
  },
  value: ({ at }) => TaxiRules.value(at),
  score: (start, played) => RewardComponents.scoreOf(partsOf(start, played), rule),
  parts: partsOf
})

const tagged = (action: string): string => `<action>${action}</action>`

export const layer = Environment.layer("taxi", settings, (selected) => {
  const game = makeGame(selected.maxTurns)
  const episode = ({ start }: GameEnvironment.Item<State>, answers: ReadonlyArray<string>) =>
    Episode.episodeOf(game, start, answers)
  const best = ({ start }: GameEnvironment.Item<State>) => TaxiRules.shortestWay(start.at).map(tagged)
  return Effect.map(GameEnvironment.definition(game, selected), (definition) => ({
    ...definition,
    // The passenger has arrived; the route sets how far the score is above 0.
    components: rule,
    evaluation: { ...definition.evaluation, isCorrect: (score: number) => score > 0 },
    label: ({ start }: GameEnvironment.Item<State>) => `state ${start.at}`,
    claims: {
      scoreRange: [-1, 1] as const,
      gold: (item: GameEnvironment.Item<State>) => [
        episode(item, best(item)),
        episode(
          item,
          best(item).map((action) => `<think>${tagged("dropoff")}</think>${action}`)
        )
      ],
      wrong: (item: GameEnvironment.Item<State>) => [
        "dropoff",
        episode(item, best(item).slice(0, -1)),
        episode(item, ["I do not know.", ...best(item)]),
        episode(
          item,
          Array.from({ length: selected.maxTurns }, () => tagged("pickup"))
        )
      ]
    }
  }))
})

const rules = (
  maxTurns: number
): string => `You drive a taxi in a town of five by five squares. Row 0 is in the north, column 0 in the west.
${TaxiRules.landmarks.map(({ column, name, row }) => `${name} is at ${square(row, column)}`).join("; ")}.
No way leads east from ${TaxiRules.walls.map(([row, column]) => square(row, column)).join("; from ")}, nor back west.
Every turn you choose one action: ${TaxiRules.actions.join(", ")}. Fetch the passenger, bring them to where they want to go and drop them off, in as few
actions as you can; ${maxTurns} at most. Answer like this: <action>north</action>`
