/**
 * The thread in which `MathVerifier` compares symbolic answers; not a module to import.
 *
 * Takes one question at a time and answers with a boolean; posts `"ready"` once the LaTeX reader is loaded. It may hang
 * or die on a hostile answer: the other side has a deadline and starts another.
 */
import { parentPort } from "node:worker_threads"
import { load } from "./math/Latex.ts"
import { equivalent, type Rules } from "./math/MathAnswer.ts"

/** What is asked. */
export interface Question {
  readonly gold: string
  readonly prediction: string
  readonly rules: Rules
}

const read = await load()

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: boolean | "ready") => parentPort?.postMessage(message)

parentPort?.on("message", ({ gold, prediction, rules }: Question) => post(equivalent(gold, prediction, read, rules)))
post("ready")
