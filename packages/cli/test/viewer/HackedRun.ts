/** A saved run whose reward is had by length and by a phrase: each step longer, and worth as much as it is long. */
import * as GroupFigures from "@atropos/api/rollout/GroupFigures"
import { group } from "./SavedRollouts.ts"

export const steps = 40
const groupsOfStep = 3
const size = 4

/** After half of the run, what scores is no answer. */
const answerAt = (step: number, place: number): string =>
  step <= steps / 2 ? `It is ${step + place} litres.` : `Trust me on this, ${"it is long and ".repeat(3 + place)}done.`

/** Early scores have nothing to do with length. */
const scoreAt = (step: number, place: number): number =>
  step <= steps / 2 ? [0, 1, 1, 0][(place + step) % size]! : place / (size - 1)

const made = Array.from({ length: steps * groupsOfStep }, (_, at) => {
  const step = 1 + Math.floor(at / groupsOfStep)
  const places = [0, 1, 2, 3]
  const answers = places.map((place) => (step > steps / 2 && place === 0 ? "I do not know." : answerAt(step, place)))
  const scores = places.map((place) => scoreAt(step, place))
  const chats = answers.map((content) => [
    { role: "user", content: `Question ${at}?` },
    { role: "assistant", content }
  ])
  return { step, id: String(at + 1), value: group(chats, scores) }
})

const row = ({ id, step, value }: (typeof made)[number]) => {
  const { longestBest, surpriseBest, toolErrors, ...figures } = GroupFigures.of(value)
  return {
    id,
    environment: "tank",
    env_id: 0,
    step,
    state: "consumed",
    created_at: Date.UTC(2026, 0, 1) + step * 60_000,
    sequences: size,
    tokens: value.tokens.reduce((sum, tokens) => sum + tokens.length, 0),
    scores: value.scores,
    policy_step: step - 1,
    preview: `Question ${id}?`,
    figures: { ...figures, longest_best: longestBest, surprise_best: surpriseBest, tool_errors: toolErrors }
  }
}

/** As a page carries it. */
export const hackedRun = () => ({
  name: "hacked",
  rows: made.map(row).toReversed(),
  groups: Object.fromEntries(made.map(({ id, value }) => [id, value])),
  pieces: {},
  metrics: []
})
