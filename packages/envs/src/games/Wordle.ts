/**
 * Plays Wordle: a hidden word of five letters, six guesses, marks for every letter.
 *
 * Score of an episode: 1 for the word at the first guess, 0.1 less for each additional one; at most 0.3 if it is not
 * found, by the information of the guesses. With `mode: stepwise` alternatives of each guess are scored by the
 * information they add. An answer without a listed word between `<guess>` tags uses up a guess. All rollouts of a group
 * have the same hidden word.
 */
import { Environment, Message, RewardComponents } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as GameEnvironment from "../kit/GameEnvironment.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect } from "effect"
import * as WordleRules from "./WordleRules.ts"
import { words } from "./Words.ts"

export const settings = Environment.settings(GameEnvironment.fields)

export interface State {
  readonly hidden: string
  readonly guesses: ReadonlyArray<WordleRules.Guess>
  /** Number of answers so far, including those without a word. */
  readonly turn: number
}

/** The guess of an answer: the last one between tags, after the thinking. */
export const guessOf = (answer: string): string | undefined =>
  Array.from(Thinking.visibleText(answer).matchAll(/<guess>\s*([a-z]{5})\s*<\/guess>/gi))
    .at(-1)?.[1]!
    .toLowerCase()

const isSolved = ({ guesses }: State): boolean => guesses.at(-1)?.marks === "g".repeat(WordleRules.length)

const rule: RewardComponents.Rule = { weights: { solved: 0.7, known: 0.3, late: -0.1 } }

/**
 * The reward components if the game ends here: `late` is the number of guesses beyond the first that found the word.
 */
const parts = (state: State): RewardComponents.Rewards => ({
  solved: isSolved(state) ? 1 : 0,
  known: WordleRules.known(state.guesses),
  late: isSolved(state) ? state.turn - 1 : 0
})

const worth = (state: State): number => RewardComponents.scoreOf(parts(state), rule)

const guess = (state: State, answer: string): { readonly state: State; readonly told: string } => {
  const word = guessOf(answer)
  const next = { ...state, turn: state.turn + 1 }
  if (word === undefined) return { state: next, told: "No word of five letters between <guess> tags." }
  if (!WordleRules.isKnown(word)) return { state: next, told: `${word} is not in the list.` }
  const marks = WordleRules.mark(word, state.hidden)
  return { state: { ...next, guesses: [...state.guesses, { word, marks }] }, told: `${word}: ${marks}.` }
}

export const game: GameEnvironment.PlayableGame<State> = {
  maxTurns: WordleRules.maxGuesses,
  start: (random) => ({ hidden: random.pick(words), guesses: [], turn: 0 }),
  opening: () => [Message.system(rules), Message.user("Your first guess?")],
  step: (before, answer) => {
    const { state, told } = guess(before, answer)
    const isOver = isSolved(state) || state.turn === WordleRules.maxGuesses
    const observation = `${told} ${WordleRules.maxGuesses - state.turn} left.`
    return { state, isOver, reward: isOver ? worth(state) : 0, observation }
  },
  // The information so far, minus a small cost for every used guess.
  value: (state) => worth(state) - 0.01 * state.turn,
  score: (_, { state }) => worth(state),
  parts: (_, { state }) => parts(state)
}

const episode = ({ start }: GameEnvironment.Item<State>, ...answers: ReadonlyArray<string>) =>
  Episode.episodeOf(game, start, answers)

export const layer = Environment.layer("wordle", settings, (chosen) =>
  Effect.map(GameEnvironment.definition(game, chosen), (definition) => ({
    ...definition,
    components: rule,
    evaluation: {
      ...definition.evaluation,
      isCorrect: (_: number, rewards?: RewardComponents.Rewards) => rewards?.["solved"] === 1
    },
    label: ({ start }: GameEnvironment.Item<State>) => start.hidden,
    claims: {
      scoreRange: [0, 1] as const,
      gold: (item: GameEnvironment.Item<State>) => [episode(item, `<guess>${item.start.hidden}</guess>`)],
      wrong: (item: GameEnvironment.Item<State>) => [
        item.start.hidden,
        "<guess>zzzzz</guess>",
        episode(item, "?", `<guess>${item.start.hidden}</guess>`),
        episode(item, `<think><guess>${item.start.hidden}</guess></think> I wonder.`)
      ]
    }
  }))
)

const rules = `You play Wordle. A common English word of five letters is hidden; you have six guesses. After each you are told of every letter:
g: right, in the right place; y: in the word, in another place; x: not in the word (or not once more).
Think if you like, then give your guess like this: <guess>crane</guess>. Only the last guess of an answer counts.`
