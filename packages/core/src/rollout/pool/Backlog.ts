/** Tasks that precede new items: requeued ones, and retries after a pause. */
import { Effect, type Scope } from "effect"
import * as Retry from "../../base/Retry.ts"
import type { Task } from "./Task.ts"

export interface Backlog {
  readonly add: (task: Task) => void
  /** Adds a failed task, after a pause that grows with its failures. */
  readonly addLater: (task: Task) => Effect.Effect<void>
  readonly take: () => Task | undefined
  /** True if nothing is waiting, now or after a pause. */
  readonly isEmpty: () => boolean
}

/** Pauses end with `scope`; `onChange`: a pause is over. */
export const make = (tasks: ReadonlyArray<Task>, scope: Scope.Scope, onChange: () => void): Backlog => {
  const waiting = [...tasks]
  let paused = 0
  return {
    add: (task) => void waiting.push(task),
    addLater: (task) =>
      Effect.suspend(() => {
        paused++
        return Effect.gen(function* () {
          yield* Effect.sleep(yield* Retry.backoffMillis(Math.max(1, task.failures)))
          paused--
          waiting.push(task)
          onChange()
        }).pipe(Effect.forkIn(scope), Effect.asVoid)
      }),
    take: () => waiting.shift(),
    isEmpty: () => waiting.length === 0 && paused === 0
  }
}
