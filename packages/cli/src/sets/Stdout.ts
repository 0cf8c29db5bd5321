/** Streams rows to standard output; the reader may stop early (`| head`). */
import { Effect } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import type { Row } from "./Layout.ts"
import { lineOf } from "./RowFile.ts"

const isClosed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED")

/** A write error is passed to its callback and then emitted as an event, which ends the process without a listener. */
const ignore = (): void => {}

const listen = (): void => {
  if (!process.stdout.listeners("error").includes(ignore)) process.stdout.on("error", ignore)
}

/** Writes rows; false once the reader has closed the pipe. */
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
