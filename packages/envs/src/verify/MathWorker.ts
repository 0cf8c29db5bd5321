/**
 * Compares symbolic answers for `MathVerifier` in a thread; not a module to import.
 *
 * Takes one question at a time and answers with a boolean or a number; posts `"ready"` once the LaTeX reader is loaded.
 * It may hang or die on a hostile answer: the other side has a deadline and starts another.
 */
import { parentPort } from "node:worker_threads"
import * as EditDistance from "./math/EditDistance.ts"
import { load } from "./math/Latex.ts"
import { equivalent, type Rules } from "./math/MathAnswer.ts"

/** Asks if two answers are equivalent (a boolean), or how similar they are (a number). */
export interface Question {
  readonly gold: string
  readonly prediction: string
  readonly rules: Rules
  readonly isNear?: boolean
}

const read = await load()

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: boolean | number | "ready") => parentPort?.postMessage(message)

parentPort?.on("message", ({ gold, isNear, prediction, rules }: Question) =>
  post(isNear === true ? EditDistance.score(gold, prediction, read) : equivalent(gold, prediction, read, rules))
)
post("ready")
