/**
 * Self-play: one model plays both seats of Kuhn poker, each seat a separate sequence, trained by its winnings.
 *
 *     npx @atropos/cli up --env examples/18-self-play.ts
 *
 * Three cards, one each, one chip in the pot each; a player passes or bets one more. One seat's win is the other's
 * loss, so the mean reward stays 0 and is uninformative. The quality of play can be computed: `exploitability` is the
 * average win per game of a perfect opponent (0.458 against random play, 0 in equilibrium; Kuhn, A simplified
 * two-person poker, 1950).
 */
import { Environment, Message, SeededRandom, ServerManager } from "@atropos/core"
import { Players } from "@atropos/envs"
import { Effect, Schema, Stream } from "effect"

type Action = "p" | "b"

interface State {
  /** The cards of seat 0 and seat 1. */
  readonly cards: readonly [string, string]
  /** Passes and bets so far. */
  readonly history: string
  /** The seat that made an invalid move. */
  readonly forfeit?: number
}

const cards = ["J", "Q", "K"] as const
const deals = cards.flatMap((first) => cards.flatMap((second) => (first === second ? [] : [[first, second] as const])))

const over = new Set(["pp", "pbp", "pbb", "bp", "bb"])
const isOver = ({ forfeit, history }: State): boolean => forfeit !== undefined || over.has(history)

/** The winnings of seat 0. */
const payoff = ({ cards: [first, second], forfeit, history }: State): number => {
  if (forfeit !== undefined) return forfeit === 0 ? -2 : 2
  if (history === "bp") return 1
  if (history === "pbp") return -1
  const stake = history === "pp" ? 1 : 2
  return cards.indexOf(first as "J") > cards.indexOf(second as "J") ? stake : -stake
}

/** A seat's information: its card and the moves so far. */
const known = ({ cards, history }: State): string => `${cards[history.length % 2]}${history}`

export const game: Players.SeatedGame<State> = {
  seats: 2,
  maxTurns: 3,
  toMove: (state) => (isOver(state) ? undefined : state.history.length % 2),
  opening: (state) => [Message.user(`${known(state)}:`)],
  // Only seat 0 has a second turn: after it passed and the other seat bet.
  observation: () => "b:",
  step: (state, seat, answer) =>
    answer === "p" || answer === "b" ? { ...state, history: state.history + answer } : { ...state, forfeit: seat },
  returns: (state) => (isOver(state) ? [payoff(state), -payoff(state)] : [0, 0])
}

/** The probability that a seat with this information bets. */
export type Strategy = (known: string) => number

const expected = (state: State, bets: (state: State) => number): number => {
  if (isOver(state)) return payoff(state)
  const bet = bets(state)
  const after = (action: Action) => expected({ ...state, history: state.history + action }, bets)
  return (bet > 0 ? bet * after("b") : 0) + (bet < 1 ? (1 - bet) * after("p") : 0)
}

/** The win per game of a perfect opponent, averaged over both seats: all its pure strategies are tried. */
export const exploitability = (strategy: Strategy): number => {
  const best = (seat: 0 | 1): number => {
    const places = cards.flatMap((card) => (seat === 0 ? ["", "pb"] : ["p", "b"]).map((history) => card + history))
    const values = Array.from({ length: 2 ** places.length }, (_, plan) => {
      const bets = (state: State): number => {
        const own = known(state)
        return state.history.length % 2 === seat ? (plan >> places.indexOf(own)) & 1 : strategy(own)
      }
      const total = deals.reduce((sum, cards) => sum + expected({ cards, history: "" }, bets), 0)
      return ((seat === 0 ? 1 : -1) * total) / deals.length
    })
    return Math.max(...values)
  }
  return (best(0) + best(1)) / 2
}

/** Counts the policy's moves by information, weighting newer plays more. */
const observed = () => {
  const counts = new Map<string, { bets: number; all: number }>()
  return {
    add: ({ cards, history }: State): void => {
      Array.from(history).forEach((action, turn) => {
        const own = known({ cards, history: history.slice(0, turn) })
        const { all, bets } = counts.get(own) ?? { all: 0, bets: 0 }
        const fading = 1 - 1 / 400
        counts.set(own, { bets: bets * fading + (action === "b" ? 1 : 0), all: all * fading + 1 })
      })
    },
    strategy: (own: string): number => {
      const { all, bets } = counts.get(own) ?? { all: 0, bets: 0 }
      return all === 0 ? 0.5 : bets / all
    }
  }
}

const settings = Environment.settings({ seed: Environment.field(Schema.Int, 0, "random seed for the cards and plays") })

export const layer = Environment.layer("kuhn-poker", settings, ({ groupSize, seed }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const { add, strategy } = observed()
    return {
      items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
      // Every play of an item has the same cards; each seat's rollouts are compared with each other.
      collectTrajectories: Effect.fn("Kuhn.collectTrajectories")(
        function* (item: number) {
          const start = { cards: SeededRandom.seeded(seed, item).pick(deals), history: "" }
          const { groups, plays } = yield* Players.groups(game, start, {
            players: ["policy", "policy"],
            n: groupSize,
            form: "text",
            maxTokens: 1,
            seed: SeededRandom.seeded(seed + 1, item).between(0, 2 ** 30)
          })
          for (const { state } of plays) add(state)
          return { groups }
        },
        Effect.provideService(ServerManager.ServerManager, servers)
      ),
      metrics: Effect.sync(() => ({
        exploitability: exploitability(strategy),
        "bluffs/first": strategy("J"),
        "bluffs/second": strategy("Jp")
      })),
      scoresPerEpisode: "one for each seat",
      claims: { untestable: "what a play is worth depends on the other seat", scoreRange: [-2, 2] as const }
    }
  })
)

/** How `up` makes a model for it: it starts with random passes and bets. */
export const recipe = {
  characters: `${cards.join("")}pb:`,
  demonstration: (index: number) => {
    const random = SeededRandom.seeded(7, index)
    const [first, second] = random.pick(deals)
    const states = [`${first}:`, `${first}:pb:`, `${second}p:`, `${second}b:`]
    return { prompt: random.pick(states), completion: random.pick(["p", "b"]) }
  },
  embeddingDeviation: 0.25,
  warmStart: { steps: 200 },
  env: { group_size: 16, max_token_length: 8 },
  trainer: { seq_len: 16, batch_size: 192, lr: 3e-4, training_steps: 200 },
  // Towards the initial, mixed play: without it the seats chase each other around the equilibrium.
  loss: { preset: "dr-grpo", kl: "k3", kl_coef: 0.2 }
}
