/** The lines of a run's summary that tell what was wrong with it: one for each cause; none where nothing was. */
import * as Health from "@atropos/core/health/Health"

export const of = (cards: ReadonlyArray<Health.Card>): ReadonlyArray<readonly [string, string]> =>
  cards.map((card, index) => [index === 0 ? "health" : "", `${card.cause.severity}: ${Health.cardInWords(card)}`])
