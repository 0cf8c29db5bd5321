/**
 * Plays blackjack: hit or stick until the hand is over, one decision per turn.
 *
 * Gymnasium's rules and rewards (`BlackjackRules`). Score: 1 won, 0 drawn, -1 lost (1.5 for a natural under `natural`).
 * With `mode: stepwise` a decision scores r + V(s') - V(s); V is the expected return under optimal play from the
 * visible cards (the original used the cards to come). An answer without a decision loses the hand. `prompt_style:
 * compact`, for models trained from scratch: `M-0=` (M: sixteen, from A for four; -: no ace that counts eleven; 0: the
 * dealer shows ten) is answered by `h` or `s`. All rollouts of a group are dealt the same cards.
 */
import { Environment, Message, SeededRandom } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as GameEnvironment from "../kit/GameEnvironment.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema } from "effect"
import * as BlackjackRules from "./BlackjackRules.ts"

export const settings = Environment.settings({
  ...GameEnvironment.fields,
  promptStyle: Environment.field(
    Schema.Literals(["chat", "compact"]),
    "chat",
    "prompts in words as a chat, or a few characters for models trained from scratch"
  ),
  sab: Environment.field(
    Schema.Boolean,
    true,
    "use Sutton and Barto's rules: a natural wins unless the dealer has one too"
  ),
  natural: Environment.field(Schema.Boolean, false, "without sab: winning with a natural pays 1.5")
})

export type Settings = BlackjackRules.Rules & { readonly promptStyle: "chat" | "compact" }

/** Totals from 4 to 21 as single characters, so that a model from scratch need not learn to combine digits first. */
const totals = "ABCDEFGHIJKLMNOPQR"

/** The vocabulary of the compact form. */
export const characters = `${totals}0123456789+-=hs`

/** The decision of an answer: the last one between tags, after the thinking; in the compact form its only character. */
export const actionOf = (answer: string, style: Settings["promptStyle"]): BlackjackRules.Action | undefined => {
  if (style === "compact") return answer === "h" ? "hit" : answer === "s" ? "stick" : undefined
  const word = Array.from(Thinking.visibleText(answer).matchAll(/<action>\s*(hit|stick)\s*<\/action>/gi)).at(-1)?.[1]
  return word === undefined ? undefined : word.toLowerCase() === "hit" ? "hit" : "stick"
}

/** A hand in the compact form: total, whether an ace counts eleven (+) or not (-), the dealer's open card (0: ten). */
export const compact = ({ dealer, player }: Pick<BlackjackRules.State, "player" | "dealer">): string =>
  `${totals[BlackjackRules.total(player) - 4]!}${BlackjackRules.hasUsableAce(player) ? "+" : "-"}${dealer[0]! % 10}=`

const cardName = (card: number): string => (card === 1 ? "an ace" : String(card))

const inWords = ({ dealer, player }: BlackjackRules.State): string => {
  const usable = BlackjackRules.hasUsableAce(player) ? ", an ace counting eleven" : ""
  return `You hold ${player.map(cardName).join(", ")}: ${BlackjackRules.total(player)}${usable}. The dealer shows ${cardName(dealer[0]!)}. Hit or stick?`
}

export const makeGame = ({ promptStyle, ...rules }: Settings): GameEnvironment.PlayableGame<BlackjackRules.State> => {
  const isCompact = promptStyle === "compact"
  const describe = isCompact ? compact : inWords
  return {
    // At most twelve cards stay within 21, of which ten are drawn.
    maxTurns: 20,
    ...(isCompact && { form: "text", isFixedLength: true }),
    start: (random) => {
      const seed = random.between(0, 2 ** 30)
      return BlackjackRules.deal((position) => SeededRandom.seeded(seed, position).pick(BlackjackRules.ranks))
    },
    opening: (state) =>
      isCompact ? [Message.user(describe(state))] : [Message.system(instructions), Message.user(describe(state))],
    step: (state, answer) => {
      const action = actionOf(answer, promptStyle)
      if (action === undefined) return { state, reward: -1, isOver: true, observation: "" }
      const outcome = BlackjackRules.act(state, action, rules)
      return { ...outcome, observation: outcome.isOver ? "" : describe(outcome.state) }
    },
    value: (state) => BlackjackRules.value(state, rules),
    // A hand that is not over is lost, so that never deciding does not win.
    score: (_, { isOver, rewards }) => (isOver ? rewards.reduce((sum, reward) => sum + reward, 0) : -1)
  }
}

/** A state within a hand, answered at random: teaches the format without any strategy. */
export const demonstration = (
  seed: number,
  index: number
): { readonly prompt: string; readonly completion: string } => {
  const random = SeededRandom.seeded(seed + 1, index)
  const game = makeGame({ promptStyle: "compact", sab: true, natural: false })
  let state = game.start(random)
  let prompt = compact(state)
  while (random.chance(0.5)) {
    const { isOver, observation, state: next } = game.step(state, "h")
    if (isOver) break
    prompt += `h${observation}`
    state = next
  }
  return { prompt, completion: random.pick(["h", "s"]) }
}

/** Every way to play a hand: hits, then a stick. */
const waysToPlay = (answer: (action: BlackjackRules.Action) => string): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: 12 }, (_, hits) => [...Array.from({ length: hits }, () => answer("hit")), answer("stick")])

export const layer = Environment.layer("blackjack", settings, (selected) => {
  const game = makeGame(selected)
  const best = !selected.sab && selected.natural ? 1.5 : 1
  const answer = (action: BlackjackRules.Action): string =>
    selected.promptStyle === "compact" ? action[0]! : `<action>${action}</action>`
  const scoreOf = (start: BlackjackRules.State, answers: ReadonlyArray<string>) =>
    game.score(start, Episode.replay(game, start, answers))
  const episodes = ({ start }: GameEnvironment.Item<BlackjackRules.State>, isWanted: (score: number) => boolean) =>
    waysToPlay(answer)
      .filter((answers) => isWanted(scoreOf(start, answers)))
      .map((answers) => Episode.episodeOf(game, start, answers))
  return Effect.map(
    GameEnvironment.definition(game, {
      ...selected,
      ...(selected.promptStyle === "compact" && { maxAnswerTokens: 1 })
    }),
    (definition) => ({
      ...definition,
      evaluation: { ...definition.evaluation, isCorrect: (score: number) => score > 0 },
      label: ({ start }: GameEnvironment.Item<BlackjackRules.State>) => compact(start),
      claims: {
        scoreRange: [-1, best] as const,
        // Some hands cannot be won.
        gold: (item: GameEnvironment.Item<BlackjackRules.State>) => episodes(item, (score) => score === best),
        wrong: (item: GameEnvironment.Item<BlackjackRules.State>) => [
          "",
          "hit or stick",
          "<think><action>stick</action></think>",
          ...episodes(item, (score) => score < best)
        ]
      }
    })
  )
})

const instructions = `You play Blackjack against a dealer. Come as close to 21 as you can without going over it; the dealer draws until 17.
Face cards count 10, an ace 1 or 11. Every turn you take a card (hit) or stop (stick). Answer like this: <action>hit</action>`
