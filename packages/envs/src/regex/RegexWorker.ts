/**
 * Runs a policy's regular expressions in a thread; not a module to import.
 *
 * Catastrophic backtracking hangs it: the caller has a deadline, and starts another. Only whole texts match.
 */
import { parentPort } from "node:worker_threads"
// Not all of effect, so that the thread starts fast.
import * as Result from "effect/Result"

export interface Question {
  readonly pattern: string
  readonly texts: ReadonlyArray<string>
}

/** Which of the texts match as a whole; or why the expression is invalid. */
export type Verdict =
  | { readonly _tag: "tried"; readonly matches: ReadonlyArray<boolean> }
  | { readonly _tag: "invalid"; readonly problem: string }

const answer = ({ pattern, texts }: Question): Verdict => {
  // Compiled alone first: `a)|(?:b` would be valid inside the group below.
  const compiled = Result.try({
    try: () => [new RegExp(pattern, "u"), new RegExp(`^(?:${pattern})$`, "u")] as const,
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
  })
  return Result.match(compiled, {
    onSuccess: ([, whole]): Verdict => ({ _tag: "tried", matches: texts.map((text) => whole.test(text)) }),
    onFailure: (problem): Verdict => ({ _tag: "invalid", problem })
  })
}

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: Verdict | "ready") => parentPort?.postMessage(message)

parentPort?.on("message", (question: Question) => post(answer(question)))
post("ready")
