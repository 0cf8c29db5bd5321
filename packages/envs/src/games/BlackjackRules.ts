/**
 * Implements the rules of Gymnasium's Blackjack-v1: an infinite deck, an ace counts 11 unless that busts, the dealer
 * draws below 17.
 *
 * Pure: a state holds the cards by position, so a seed and the actions determine the game. `value` is the expected
 * return under optimal play from the visible cards: the dealer's open card and the player's hand, but neither the
 * hidden card nor the cards to come. Sources: gymnasium/envs/toy_text/blackjack.py; Sutton and Barto, Reinforcement
 * Learning (2018), example 5.1.
 */
export type Action = "hit" | "stick"

export interface Rules {
  /** Sutton and Barto: a natural wins unless the dealer has one too. */
  readonly sab: boolean
  /** Without `sab`: a win by a natural pays 1.5. */
  readonly natural: boolean
}

type Hand = ReadonlyArray<number>

export interface State {
  readonly player: Hand
  /** The first card is open, the second one hidden. */
  readonly dealer: Hand
  /** Card number n of the deck, 1 (ace) to 10. */
  readonly card: (position: number) => number
  readonly taken: number
}

/** Ace to ten; jack, queen and king count ten. */
export const ranks: ReadonlyArray<number> = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]

export const deal = (card: (position: number) => number): State => ({
  dealer: [card(0), card(1)],
  player: [card(2), card(3)],
  card,
  taken: 4
})

const sumOf = (hand: Hand): number => hand.reduce((sum, card) => sum + card, 0)

export const hasUsableAce = (hand: Hand): boolean => hand.includes(1) && sumOf(hand) + 10 <= 21

export const total = (hand: Hand): number => sumOf(hand) + (hasUsableAce(hand) ? 10 : 0)

const isBust = (hand: Hand): boolean => total(hand) > 21
const isNatural = (hand: Hand): boolean => hand.length === 2 && hand.includes(1) && hand.includes(10)

export interface Outcome {
  readonly state: State
  readonly reward: number
  readonly isOver: boolean
}

export const act = (state: State, action: Action, rules: Rules): Outcome => {
  const { card, player, taken } = state
  if (action === "hit") {
    const hand = [...player, card(taken)]
    const next = { ...state, player: hand, taken: taken + 1 }
    return isBust(hand) ? { state: next, reward: -1, isOver: true } : { state: next, reward: 0, isOver: false }
  }
  let { dealer } = state
  let position = taken
  while (total(dealer) < 17) dealer = [...dealer, card(position++)]
  const reward = payout(total(player), isNatural(player), isBust(dealer) ? 0 : total(dealer), isNatural(dealer), rules)
  return { state: { ...state, dealer, taken: position }, reward, isOver: true }
}

const payout = (player: number, playerIsNatural: boolean, dealer: number, dealerIsNatural: boolean, rules: Rules) => {
  if (rules.sab && playerIsNatural && !dealerIsNatural) return 1
  const reward = Math.sign(player - dealer)
  return !rules.sab && rules.natural && playerIsNatural && reward === 1 ? 1.5 : reward
}

/** A dealer's final total (0: bust), whether it is a natural, and its probability. */
interface Ending {
  readonly total: number
  readonly isNatural: boolean
  readonly probability: number
}

const dealerEndings = (hand: Hand): ReadonlyArray<Ending> => {
  const cached = endings.get(hand.join())
  if (cached !== undefined) return cached
  const outcome = hand.length >= 2 && total(hand) >= 17 ? [stood(hand)] : merged(hand)
  endings.set(hand.join(), outcome)
  return outcome
}
const endings = new Map<string, ReadonlyArray<Ending>>()

const stood = (hand: Hand): Ending => ({
  total: isBust(hand) ? 0 : total(hand),
  isNatural: isNatural(hand),
  probability: 1
})

const merged = (hand: Hand): ReadonlyArray<Ending> => {
  const sums = new Map<string, Ending>()
  for (const rank of ranks) {
    // The order of the cards is irrelevant from the second one on.
    for (const one of dealerEndings([...hand, rank].toSorted((a, b) => a - b))) {
      const key = `${one.total} ${one.isNatural}`
      const probability = (sums.get(key)?.probability ?? 0) + one.probability / ranks.length
      sums.set(key, { ...one, probability })
    }
  }
  return Array.from(sums.values())
}

const stickValue = (player: Hand, open: number, rules: Rules): number =>
  dealerEndings([open]).reduce(
    (sum, one) => sum + one.probability * payout(total(player), isNatural(player), one.total, one.isNatural, rules),
    0
  )

/** The expected return of each action, with optimal play after it. */
export const actionValues = (
  { dealer, player }: Pick<State, "player" | "dealer">,
  rules: Rules
): { readonly [A in Action]: number } => ({
  stick: stickValue(player, dealer[0]!, rules),
  hit: ranks.reduce((sum, rank) => sum + handValue([...player, rank], dealer[0]!, rules) / ranks.length, 0)
})

const handValue = (player: Hand, open: number, rules: Rules): number => {
  if (isBust(player)) return -1
  const key = [total(player), hasUsableAce(player), isNatural(player), open, rules.sab, rules.natural].join()
  const cached = values.get(key)
  if (cached !== undefined) return cached
  const { hit, stick } = actionValues({ player, dealer: [open] }, rules)
  const best = Math.max(hit, stick)
  values.set(key, best)
  return best
}
const values = new Map<string, number>()

/** V(s): the expected return from here under optimal play. */
export const value = ({ dealer, player }: Pick<State, "player" | "dealer">, rules: Rules): number =>
  handValue(player, dealer[0]!, rules)
