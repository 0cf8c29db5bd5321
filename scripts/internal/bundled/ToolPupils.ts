/**
 * Students' dialogues about arithmetic stories with the calculator of example 19, good and bad, on which the bundled
 * model is pretrained.
 *
 * The hasty ones make no call and repeat the last number of the story; some stop after the first call; some calculate
 * and then answer with a number of the story; the rest call step by step, and occasionally calculate something else. A
 * fifth of all forget to give the answer.
 */
import type { SeededRandom } from "@atropos/core"
import * as Calculator from "../../../examples/19-calculator-agent.ts"
import * as Pupils from "./Pupils.ts"

/** Of 100 students that are not hasty. */
const stoppers = 30
/** Of 100 students that are not hasty. */
const unbelieving = 15

/** A turn of the model, or the calculator's reply. */
export interface Turn {
  readonly from: "model" | "tool"
  readonly text: string
}

/** A call as the gateway writes it. */
const call = (sum: string): string =>
  `<tool_call>\n{"name": "calculator", "arguments": {"sum": "${sum}"}}\n</tool_call>`

const said = (text: string): Turn => ({ from: "model", text })

/** A student's turns with the replies; `hasty` of 100 students are hasty. */
export const dialogue = (random: SeededRandom.SeededRandom, question: string, hasty: number): ReadonlyArray<Turn> => {
  const { start, steps } = Pupils.read(question)
  const last = Pupils.numbersIn(question).at(-1)!
  if (random.between(1, 100) <= hasty) {
    return [said(`The last number is ${last}.${Pupils.ending(random, last, steps.length)}`)]
  }
  const isStopper = steps.length > 1 && random.between(1, 100) <= stoppers
  let total = start
  const calls = (isStopper ? steps.slice(0, 1) : steps).flatMap((step) => {
    const sum = Pupils.sum(total, Pupils.slipped(random, step, total))
    const result = Calculator.calculated(sum)
    total = Number(result)
    return [said(call(sum)), { from: "tool", text: result } as const]
  })
  const answer = random.between(1, 100) <= unbelieving ? random.pick([start, last]) : total
  return [...calls, said(Pupils.ending(random, answer, steps.length).trimStart())]
}
