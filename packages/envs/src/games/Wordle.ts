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
import { words } from "./Words.ts"

/**
 * Implements the rules of Wordle: guess a hidden word of five letters within six guesses; each letter is marked as
 * right, elsewhere or absent.
 *
 * Pure. A letter that occurs once in the hidden word is marked once, right places first. `known` is the share of
 * information gained so far, by the logarithm of the number of words left. It depends on the marks alone, never on the
 * hidden word.
 */
const length = 5
const maxGuesses = 6

/** g: right place, y: elsewhere in the word, x: not (or not once more) in it. */
type Marks = string

export const mark = (guess: string, hidden: string): Marks => {
  const left = Array.from(hidden)
  const marks = Array.from(guess, (letter, at) => {
    if (hidden[at] !== letter) return "x"
    left[at] = ""
    return "g"
  })
  return marks
    .map((one, at) => {
      const elsewhere = one === "x" ? left.indexOf(guess[at]!) : -1
      if (elsewhere === -1) return one
      left[elsewhere] = ""
      return "y"
    })
    .join("")
}

interface Guess {
  readonly word: string
  readonly marks: Marks
}

/** The words consistent with every guess so far. */
export const candidates = (guesses: ReadonlyArray<Guess>): ReadonlyArray<string> =>
  words.filter((word) => guesses.every((guess) => mark(guess.word, word) === guess.marks))

const isWord: ReadonlySet<string> = new Set(words)
const isKnown = (word: string): boolean => isWord.has(word)

/** Share of the information gained so far, 0 (none) to 1 (one word is left). */
const known = (guesses: ReadonlyArray<Guess>): number =>
  1 - Math.log2(Math.max(1, candidates(guesses).length)) / Math.log2(words.length)

export const settings = Environment.settings(GameEnvironment.fields)

export interface State {
  readonly hidden: string
  readonly guesses: ReadonlyArray<Guess>
  /** Number of answers so far, including those without a word. */
  readonly turn: number
}

/** The guess of an answer: the last one between tags, after the thinking. */
export const guessOf = (answer: string): string | undefined =>
  Array.from(Thinking.visibleText(answer).matchAll(/<guess>\s*([a-z]{5})\s*<\/guess>/gi))
    .at(-1)?.[1]!
    .toLowerCase()

const isSolved = ({ guesses }: State): boolean => guesses.at(-1)?.marks === "g".repeat(length)

const rule: RewardComponents.Rule = { weights: { solved: 0.7, known: 0.3, late: -0.1 } }

/**
 * The reward components if the game ends here: `late` is the number of guesses beyond the first that found the word.
 */
const parts = (state: State): RewardComponents.Rewards => ({
  solved: isSolved(state) ? 1 : 0,
  known: known(state.guesses),
  late: isSolved(state) ? state.turn - 1 : 0
})

const worth = (state: State): number => RewardComponents.scoreOf(parts(state), rule)

const guess = (state: State, answer: string): { readonly state: State; readonly feedback: string } => {
  const word = guessOf(answer)
  const next = { ...state, turn: state.turn + 1 }
  if (word === undefined) return { state: next, feedback: "No word of five letters between <guess> tags." }
  if (!isKnown(word)) return { state: next, feedback: `${word} is not in the list.` }
  const marks = mark(word, state.hidden)
  return { state: { ...next, guesses: [...state.guesses, { word, marks }] }, feedback: `${word}: ${marks}.` }
}

export const game: GameEnvironment.PlayableGame<State> = {
  maxTurns: maxGuesses,
  start: (random) => ({ hidden: random.pick(words), guesses: [], turn: 0 }),
  opening: () => [Message.system(rules), Message.user("Your first guess?")],
  step: (before, answer) => {
    const { state, feedback } = guess(before, answer)
    const isOver = isSolved(state) || state.turn === maxGuesses
    const observation = `${feedback} ${maxGuesses - state.turn} left.`
    return { state, isOver, reward: isOver ? worth(state) : 0, observation }
  },
  // The information so far, minus a small cost for every used guess.
  value: (state) => worth(state) - 0.01 * state.turn,
  score: (_, { state }) => worth(state),
  parts: (_, { state }) => parts(state)
}

const episode = ({ start }: GameEnvironment.Item<State>, ...answers: ReadonlyArray<string>) =>
  Episode.episodeOf(game, start, answers)

export const layer = Environment.layer("wordle", settings, (selected) =>
  Effect.map(GameEnvironment.definition(game, selected), (definition) => ({
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
