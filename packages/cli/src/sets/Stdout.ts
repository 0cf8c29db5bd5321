/** Rows as they come, on standard output; whoever reads may stop when it has enough (`| head`). */
import { Effect } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import type { Row } from "./Layout.ts"
import { lineOf } from "./RowFile.ts"

const isClosed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED")

/**
 * The error of a write comes to its callback, and behind that as an event, which ends the process where nobody listens.
 */
const ignore = (): void => {}

const listen = (): void => {
  if (!process.stdout.listeners("error").includes(ignore)) process.stdout.on("error", ignore)
}

/** Writes rows; false when nobody reads any more. */
export const write = (rows: ReadonlyArray<Row>): Effect.Effect<boolean, CommandFailed> =>
  rows.length === 0
    ? Effect.succeed(true)
    : Effect.callback((resume) => {
        listen()
        process.stdout.write(rows.map((row) => `${lineOf(row)}\n`).join(""), (error) => {
          if (error === null || error === undefined) resume(Effect.succeed(true))
          else if (isClosed(error)) resume(Effect.succeed(false))
          else resume(Effect.fail(new CommandFailed({ message: `cannot write to standard output: ${error.message}` })))
        })
      })
