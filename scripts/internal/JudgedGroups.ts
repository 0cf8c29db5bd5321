/** Groups with a judge's output and the times of their turns, as lines of a file: written for screenshots. */
import * as Conversations from "./Conversations.ts"

const judged = [
  {
    rewards: { correct: 1, sources: 0.5, style: 0.25 },
    rationale: "The figure is the one that the search gave, with its year. The source itself is not named."
  },
  {
    rewards: { correct: 1, sources: 0.25, style: 0 },
    rationale: "Right, but a bare number: a reader does not learn what it counts or where it is from."
  },
  {
    rewards: { correct: 0, sources: 0, style: 0.25 },
    rationale: "A guess in a friendly tone. The tools were asked for, and none was called."
  }
]

/** Milliseconds since the item began: the second waited for a server slot, and delayed the others. */
const timings = [
  {
    turns: [
      [120, 130, 1900],
      [2600, 2610, 4100]
    ],
    scored: [7900, 9100]
  },
  {
    turns: [
      [120, 1450, 3300],
      [4700, 4720, 7850]
    ],
    scored: [7900, 9100]
  },
  { turns: [[120, 140, 2450]], scored: [7900, 9100] }
]

const total = (rewards: { readonly [name: string]: number }): number =>
  Object.values(rewards).reduce((sum, value) => sum + value, 0)

export const lines = (): string =>
  Conversations.cities
    .map(([city, people], at) => {
      const { group, policy_versions } = Conversations.tools(city, people, 40 + at)
      const overrides = group.overrides.map((own, row) => ({ ...own, ...judged[row] }))
      const scores = judged.map(({ rewards }) => total(rewards))
      return `${JSON.stringify({ ...group, scores, overrides, policy_versions, timings })}\n`
    })
    .join("")
