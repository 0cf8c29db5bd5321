/**
 * Attributes unhandled errors, and calls of `process.exit`, to the function of a user's file that caused them.
 *
 * Node ends the process on an unhandled rejection and on an error thrown by a timer or an event. Within `owned` these
 * go to the owner instead, found by the asynchronous context, and `process.exit` throws. Without an owner, they go to
 * the reporter of the running program; without one, the process ends as in plain Node.
 */
import { AsyncLocalStorage } from "node:async_hooks"

export type Owner = (cause: unknown) => void

/** Handles an error or an exit without a known owner; must end the process. */
export type Reporter = (cause: unknown) => void

interface Owned {
  readonly owner: Owner
  readonly isOver: () => boolean
}

const owners = new AsyncLocalStorage<Owned>()

let reporter: Reporter | undefined
let isInstalled = false

/**
 * Calls `run`; everything that it and what it starts leave unhandled goes to `owner`, even after it has returned, until
 * `isOver`. Later errors are those of no owner.
 */
export const owned = <A>(owner: Owner, run: () => A, isOver: () => boolean = () => false): A => {
  install()
  return owners.run({ owner, isOver }, run)
}

const responsible = (): Owner | Reporter | undefined => {
  const found = owners.getStore()
  return found === undefined || found.isOver() ? reporter : found.owner
}

/** Reports errors without an owner, and exits, from now on; undefined: stops. For the program that the process runs. */
export const report = (to: Reporter | undefined): void => {
  reporter = to
  install()
}

/** Thrown by `process.exit` within `owned`. */
export class ExitCalled extends Error {
  override readonly name = "ExitCalled"
  constructor(code: number | string | null | undefined) {
    super(
      `process.exit(${code === undefined ? "" : String(code)}) was called, which would end the program: throw an error instead`
    )
  }
}

const install = (): void => {
  if (isInstalled) return
  isInstalled = true
  const handle = (cause: unknown): void => {
    // Reported when it was thrown.
    if (cause instanceof ExitCalled) return
    const to = responsible()
    if (to !== undefined) return to(cause)
    // Node's default without a listener: the stack, and exit code 1.
    process.off("uncaughtException", handle)
    throw cause
  }
  process.on("uncaughtException", handle)
  process.on("unhandledRejection", handle)
  const exit = process.exit.bind(process)
  process.exit = (code) => {
    const to = responsible()
    if (to === undefined) return exit(code)
    const error = new ExitCalled(code)
    to(error)
    throw error
  }
}
