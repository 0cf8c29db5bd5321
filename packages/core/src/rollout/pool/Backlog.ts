/** Tasks that go before new items: those put back in the queue, and those tried again after a pause. */
import { Effect, type Scope } from "effect"
import * as Retry from "../../base/Retry.ts"
import type { Task } from "./Task.ts"

export interface Backlog {
  readonly add: (task: Task) => void
  /** Adds a task that failed, after a pause that grows with its failures. */
  readonly addLater: (task: Task) => Effect.Effect<void>
  readonly take: () => Task | undefined
  /** Nothing waits, and nothing will be added after a pause. */
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
