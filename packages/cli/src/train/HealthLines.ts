/** Formats a run's health for its summary: one line per cause, none if healthy. */
import * as Health from "@atropos/core/health/Health"

export const of = (cards: ReadonlyArray<Health.Card>): ReadonlyArray<readonly [string, string]> =>
  cards.map((card, index) => [index === 0 ? "health" : "", `${card.cause.severity}: ${Health.cardInWords(card)}`])
