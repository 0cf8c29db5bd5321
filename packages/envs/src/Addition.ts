/**
 * Adds two numbers, as characters: `47+38=` is answered by `85` and the end of the sequence.
 *
 * The digits come most significant first, so a model trained from scratch has to foresee the carry. Reward 1 for the
 * exact sum, else 0. With two digits there are 8,100 pairs, a tenth of them held out.
 */
import { Environment, SeededRandom, ServerManager } from "@atropos/core"
import * as ExactAnswer from "./kit/ExactAnswer.ts"
import { Effect, Schema } from "effect"

export const settings = Environment.settings({
  seed: Environment.field(Schema.Int, 0, "random seed for the sums"),
  digits: Environment.field(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })), 2, "digits of each number"),
  evaluationItems: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 256, "held-out sums per evaluation"),
  temperature: Environment.field(Environment.nonNegative, 1, "sampling temperature for training rollouts")
})

/** The vocabulary of this task. */
export const characters = "0123456789+="

const draw =
  (digits: number) =>
  (random: SeededRandom.SeededRandom): ExactAnswer.Question => {
    const smallest = digits === 1 ? 0 : 10 ** (digits - 1)
    const [left, right] = [random.between(smallest, 10 ** digits - 1), random.between(smallest, 10 ** digits - 1)]
    return { prompt: `${left}+${right}=`, answer: String(left + right) }
  }

/**
 * A sum with random carries: each column's digits are added, plus 1 at random. Teaches the format and the columns; when
 * to carry is left to the reward.
 */
export const demonstration = ({
  digits,
  index,
  seed
}: {
  readonly digits: number
  readonly seed: number
  readonly index: number
}): ExactAnswer.Demonstration => {
  const { prompt } = ExactAnswer.questionAt(draw(digits), seed, index)
  const random = SeededRandom.seeded(seed + 1, index)
  const [left = 0, right = 0] = prompt.slice(0, -1).split("+").map(Number)
  let completion = ""
  for (let place = 0; place < digits; place++) {
    const digit = (number: number) => Math.floor(number / 10 ** place) % 10
    const column = digit(left) + digit(right) + random.between(0, 1)
    const isFirst = place === digits - 1
    completion = `${isFirst ? column : column % 10}${completion}`
  }
  return { prompt, completion }
}

export const layer = Environment.layer("addition", settings, (selected) =>
  Effect.map(ServerManager.ServerManager, (servers) =>
    ExactAnswer.definition(servers, {
      ...selected,
      draw: draw(selected.digits),
      wrong: ({ answer, prompt }) => ["", String(Number(answer) + 10), answer.slice(1), `${prompt}${answer}`]
    })
  )
)
